/** The address of the app: path and query. Links are ordinary links. This module handles clicks on them without a reload of the page. */

import { leave, unsaved } from "./leaving.svelte";

export const route = $state({ path: location.pathname, search: location.search });

/** The index of the shown entry in the browser's history of this app. It tells how far a step back or forward leads. */
let place = typeof history.state?.place === "number" ? (history.state.place as number) : 0;
/** Whether the next step in the history is the app's own. It undoes a step of the person while they are asked. */
let stepsBack = false;
history.replaceState({ place }, "");

function push(path: string): void {
  place += 1;
  history.pushState({ place }, "", path);
}

/** Goes to a page of the app. If a form would lose changes, the person is asked first. */
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
 * Sets parts of the address's query and leaves the others. An empty value removes a part. With `step` the browser's button Back
 * leads to the query before.
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
  // This is an entry of a link within the page, such as "Skip to content". It gets its index here.
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
  // The browser itself follows a link within the page.
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
