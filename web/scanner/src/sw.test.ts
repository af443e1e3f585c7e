import { beforeEach, expect, test, vi } from "vitest";

const SCOPE = "https://door.example/scan/";

/** A replacement for a browser's cache storage. It has only names of caches, and bodies by address. */
class FakeCaches {
  readonly stores = new Map<string, Map<string, string>>();
  keys = async () => [...this.stores.keys()];
  delete = async (name: string) => this.stores.delete(name);
  open = async (name: string) => {
    const store = this.stores.get(name) ?? new Map<string, string>();
    this.stores.set(name, store);
    const key = (wanted: string | Request) => (typeof wanted === "string" ? wanted : wanted.url);
    return {
      addAll: async (requests: Request[]) => requests.forEach((request) => store.set(request.url, `${name} ${request.url}`)),
      put: async (wanted: string, response: Response) => void store.set(wanted, await response.text()),
      match: async (wanted: string | Request) => {
        const found = store.get(key(wanted));
        return found === undefined ? undefined : new Response(found);
      },
      delete: async (wanted: string) => store.delete(wanted),
    };
  };
}

interface Worker {
  fire(name: string, event?: Record<string, unknown>): Promise<Response | undefined>;
  registration: { scope: string; waiting: unknown; installing: unknown };
}

let caches: FakeCaches;
beforeEach(() => {
  caches = new FakeCaches();
  vi.stubGlobal("caches", caches);
  vi.stubGlobal("fetch", async (request: Request) => new Response(`network ${request.url}`));
});

/** Runs the service worker as the build with this id contains it. */
async function worker(build: string): Promise<Worker> {
  const handlers = new Map<string, (event: unknown) => void>();
  const registration = { scope: SCOPE, waiting: null, installing: null };
  vi.stubGlobal("self", {
    location: new URL(SCOPE),
    registration,
    addEventListener: (name: string, handler: (event: unknown) => void) => handlers.set(name, handler),
  });
  vi.stubGlobal("__PRECACHE__", ["", "assets/app.js"]);
  vi.stubGlobal("__BUILD_ID__", build);
  vi.resetModules();
  await import("./sw.ts");
  return {
    registration,
    async fire(name, event = {}) {
      let answer: Promise<Response> | undefined;
      let done: Promise<unknown> = Promise.resolve();
      handlers.get(name)?.({ ...event, waitUntil: (work: Promise<unknown>) => (done = work), respondWith: (work: Promise<Response>) => (answer = work) });
      await done;
      return answer;
    },
  };
}

const get = (path: string, mode = "cors", method = "GET") => ({ request: { url: new URL(path, SCOPE).href, method, mode } });
const text = async (answer: Promise<Response | undefined>) => (await answer)?.text();

test("a kept file and every navigation are answered without the network", async () => {
  const v1 = await worker("v1");
  await v1.fire("install");
  expect(await text(v1.fire("fetch", get("assets/app.js")))).toBe(`admit-scan-v1 ${SCOPE}assets/app.js`);
  expect(await text(v1.fire("fetch", get("?x=1", "navigate")))).toBe(`admit-scan-v1 ${SCOPE}`);
});

test("the API, other methods and other pages are left alone", async () => {
  const v1 = await worker("v1");
  await v1.fire("install");
  expect(await v1.fire("fetch", get("/api/scanning/time"))).toBeUndefined();
  expect(await v1.fire("fetch", get("assets/app.js", "cors", "POST"))).toBeUndefined();
  expect(await v1.fire("fetch", get("/"))).toBeUndefined();
  expect(await v1.fire("fetch", get("https://elsewhere.example/scan/"))).toBeUndefined();
});

test("a build never answers from another one's cache", async () => {
  await (await worker("v1")).fire("install");
  caches.stores.get("admit-scan-v1")?.set(`${SCOPE}assets/old.js`, "old");
  const v2 = await worker("v2");
  await v2.fire("install");
  expect(await text(v2.fire("fetch", get("assets/old.js")))).toBe(`network ${SCOPE}assets/old.js`);
});

test("the former build stays until a page of the new one is ready", async () => {
  await (await worker("v1")).fire("install");
  const v2 = await worker("v2");
  await v2.fire("install");
  await v2.fire("activate");
  expect(await caches.keys()).toContain("admit-scan-v1");
  await v2.fire("message", { data: { kind: "ready" } });
  expect(await caches.keys()).toEqual(["admit-scan-v2"]);
});

test("a newer build that waits keeps its files, whatever the running one's pages say", async () => {
  const v1 = await worker("v1");
  await v1.fire("install");
  await v1.fire("activate");
  await (await worker("v2")).fire("install");
  await v1.fire("message", { data: { kind: "ready" } });
  expect(await caches.keys()).toContain("admit-scan-v2");
});

test("nothing in it takes over an open page", async () => {
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(new URL("./sw.ts", import.meta.url), "utf8");
  expect(source).not.toMatch(/skipWaiting\(|clients\.claim\(|"sync"/);
});
