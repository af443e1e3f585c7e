/** Where the app is: the path, and what is searched for. Links are plain links; this keeps the page from reloading. */

import { leave, unsaved } from "./leaving.svelte";

export const route = $state({ path: location.pathname, search: location.search });

/** The place of the entry that is shown among those of this app: which way a step of the browser's leads, and how far. */
let place = typeof history.state?.place === "number" ? (history.state.place as number) : 0;
/** A step that is taken back while somebody is asked. */
let stepsBack = false;
history.replaceState({ place }, "");

function push(path: string): void {
  place += 1;
  history.pushState({ place }, "", path);
}

/** Goes to a page of the app; where a form would lose changes, once somebody has said so. */
export function go(path: string): void {
  leave(() => show(path));
}
function show(path: string): void {
  if (path !== route.path + route.search) push(path);
  const to = new URL(path, location.origin);
  route.path = to.pathname;
  route.search = to.search;
  window.scrollTo(0, 0);
}

/**
 * Sets parts of what is searched for and leaves the rest; an empty value takes one away. With `step` the way back leads to
 * what was before.
 */
export function rewrite(parts: Record<string, string>, step = false): void {
  const query = new URLSearchParams(route.search);
  for (const [name, value] of Object.entries(parts)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  const search = query.size > 0 ? `?${query}` : "";
  if (search === route.search) return;
  if (step) push(route.path + search);
  else history.replaceState({ place }, "", route.path + search);
  route.search = search;
}

window.addEventListener("popstate", (event) => {
  const to = (event.state as { place?: number } | null)?.place;
  if (stepsBack) {
    stepsBack = false;
    return;
  }
  // A link within the page, such as the one past the navigation: its entry is given its place.
  if (to === undefined) {
    place += 1;
    history.replaceState({ place }, "");
    return;
  }
  const by = to - place;
  if (by !== 0 && unsaved()) {
    stepsBack = true;
    history.go(-by);
    leave(() => history.go(by));
    return;
  }
  place = to;
  route.path = location.pathname;
  route.search = location.search;
});

/** Lets plain clicks on links within the app change the path without a reload. */
export function followLinks(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest("a");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !plain || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
  if (/^\/(api|scan|docs|openapi)/.test(link.pathname)) return;
  // Within the page: the browser goes there itself.
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
