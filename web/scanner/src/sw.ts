/// <reference lib="webworker" />
/**
 * The service worker. It keeps this build's files for starts without a network, and nothing else. It answers no request to /api
 * and sends nothing in the background, because only the engine worker sends scans. It never takes over a page that is open.
 */
declare const __PRECACHE__: readonly string[];
declare const __BUILD_ID__: string;

const worker = self as unknown as ServiceWorkerGlobalScope;
const PREFIX = "admit-scan-";
/** Each build has its own cache, so a page never gets workers or WASM of another build. */
const CACHE = PREFIX + __BUILD_ID__;
/** The entry of this cache that lists the names of older builds' caches. */
const OLDER = "older-builds";

worker.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      // `reload` bypasses the browser's HTTP cache, which could give an older build's file if its name did not change.
      await cache.addAll(__PRECACHE__.map((path) => new Request(address(path), { cache: "reload" })));
    })(),
  );
});

worker.addEventListener("activate", (event) => event.waitUntil(rememberOlder()));

worker.addEventListener("message", (event) => {
  // A page of this build reached the phase Ready. Until then a person could still go back to an older build.
  const data = event.data as { kind?: unknown } | null;
  if (data?.kind === "ready") event.waitUntil(forgetOlder());
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

/** Notes which caches are older than this build. Later a newer build may have a cache too, and the names don't say which is older. */
async function rememberOlder(): Promise<void> {
  const older = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  const cache = await caches.open(CACHE);
  await cache.put(address(OLDER), new Response(JSON.stringify(older)));
}

async function forgetOlder(): Promise<void> {
  // The build that waits may be an earlier one again. Its cache then has a name that is on the list.
  if (worker.registration.waiting !== null || worker.registration.installing !== null) return;
  const cache = await caches.open(CACHE);
  const noted = await cache.match(address(OLDER));
  if (noted === undefined) return;
  for (const name of (await noted.json()) as string[]) await caches.delete(name);
  await cache.delete(address(OLDER));
}

function address(path: string): string {
  return new URL(path, worker.registration.scope).href;
}

export {};
