/** The pages of the app, each in a script of its own. The browser fetches further scripts when it is idle. */
import { places } from "./places";

export const pages = {
  event: () => import("./EventPage.svelte"),
  events: () => import("./Events.svelte"),
  organisation: () => import("./Organisation.svelte"),
  approve: () => import("./Approve.svelte"),
  palette: () => import("../ui/Palette.svelte"),
};

/** Fetches every page's script while the browser is idle. After that the pages open without a network too. */
export function prefetch(): void {
  const waiting = [pages.event, pages.events, ...Object.values(places), pages.palette, pages.organisation];
  const next = (): void => {
    const load = waiting.shift();
    if (!load) return;
    load().catch(() => {}).finally(() => idle(next));
  };
  idle(next);
}

function idle(then: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(then, { timeout: 5_000 });
  else setTimeout(then, 200);
}
