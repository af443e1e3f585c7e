/** The pages of the app, each a script of its own. What was not needed at first is fetched when the browser has time. */
import type { Component } from "svelte";
import type { EventView } from "../../../shared/api/types";
import type { Desk } from "../state/desk.svelte";
import type { Place } from "../state/places";

/** What every page of an event is given. */
type OfEvent = Component<{ desk: Desk; event: EventView }>;

export const pages = {
  event: () => import("./EventPage.svelte"),
  events: () => import("./Events.svelte"),
  approve: () => import("./Approve.svelte"),
  palette: () => import("../ui/Palette.svelte"),
};

export const places: Record<Place, () => Promise<{ default: OfEvent }>> = {
  overview: () => import("./Overview.svelte"),
  live: () => import("./LiveView.svelte"),
  review: () => import("./Review.svelte"),
  guests: () => import("./Guests.svelte"),
  tickets: () => import("./Tickets.svelte"),
  passes: () => import("./Passes.svelte"),
  import: () => import("./Import.svelte"),
  gates: () => import("./Gates.svelte"),
  devices: () => import("./Devices.svelte"),
};

/** Fetches every page in quiet moments: the app then goes from page to page without the network too. */
export function prefetch(): void {
  const waiting = [pages.event, pages.events, ...Object.values(places), pages.palette];
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
