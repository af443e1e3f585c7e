/// <reference lib="webworker" />
/**
 * The service worker: keeps this build's files, and nothing else. It never touches /api, sends nothing later in the
 * background (the engine worker is the only writer), and never takes over a page that is open.
 */
declare const __PRECACHE__: readonly string[];
declare const __BUILD_ID__: string;

const worker = self as unknown as ServiceWorkerGlobalScope;
const PREFIX = "admit-scan-";
/** One cache per build: page, workers and WASM never mix two builds. */
const CACHE = PREFIX + __BUILD_ID__;

worker.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      // Past the browser's own cache: a stale file under a name that did not change would break the build's unity.
      await cache.addAll(__PRECACHE__.map((path) => new Request(address(path), { cache: "reload" })));
    })(),
  );
});

worker.addEventListener("message", (event) => {
  // A page of this build reached Ready once: only now are older builds no longer needed.
  const data = event.data as { kind?: unknown } | null;
  if (data?.kind === "ready") event.waitUntil(forgetOthers());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (!url.pathname.startsWith(new URL(worker.registration.scope).pathname)) return;
  event.respondWith(fromCache(request));
});

async function fromCache(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const wanted = request.mode === "navigate" ? address("") : request.url;
  return (await cache.match(wanted, { ignoreSearch: request.mode === "navigate" })) ?? fetch(request);
}

async function forgetOthers(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== CACHE) await caches.delete(name);
  }
}

function address(path: string): string {
  return new URL(path, worker.registration.scope).href;
}
