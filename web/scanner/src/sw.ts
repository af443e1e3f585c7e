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
/** Kept beside the files: the names of older builds' caches. */
const OLDER = "older-builds";

worker.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      // Past the browser's own cache: a stale file under a name that did not change would break the build's unity.
      await cache.addAll(__PRECACHE__.map((path) => new Request(address(path), { cache: "reload" })));
    })(),
  );
});

worker.addEventListener("activate", (event) => event.waitUntil(rememberOlder()));

worker.addEventListener("message", (event) => {
  // A page of this build reached Ready once: only now are older builds no longer needed.
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

/** Which caches are older than this build: known when it takes over, no longer when a newer one is on its way. */
async function rememberOlder(): Promise<void> {
  const older = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  const cache = await caches.open(CACHE);
  await cache.put(address(OLDER), new Response(JSON.stringify(older)));
}

async function forgetOlder(): Promise<void> {
  // A build going back to an earlier one waits under that one's name.
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
