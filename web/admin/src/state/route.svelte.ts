/** Where the app is: the path, and what is searched for. Links are plain links; this keeps the page from reloading. */

export const route = $state({ path: location.pathname, search: location.search });

export function go(path: string): void {
  if (path !== route.path + route.search) history.pushState(null, "", path);
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
  history[step ? "pushState" : "replaceState"](null, "", route.path + search);
  route.search = search;
}

window.addEventListener("popstate", () => {
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
