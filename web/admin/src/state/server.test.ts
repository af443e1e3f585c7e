import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api, serverTime } from "../../../shared/api/client";
import { ask, awaySince, lastKnown, server, watchServer } from "./server.svelte.ts";

/** Whether the test's server answers. */
let alive = true;
let status = 200;
let ends = (): void => {};
const settled = () => vi.advanceTimersByTimeAsync(50);

beforeEach(() => {
  vi.useFakeTimers();
  [alive, status] = [true, 200];
  Object.assign(server, { reached: true, heardAt: Date.now(), online: true });
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("document", { visibilityState: "visible" });
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("fetch", async (path: string) => {
    if (!alive) throw new TypeError("no server");
    return new Response("{}", { status: path === "/healthz" ? 200 : status });
  });
  ends = watchServer();
});
afterEach(() => {
  ends();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a server that is gone is noticed where nobody asks it anything, and so is its return", async () => {
  alive = false;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(server.reached).toBe(true);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(server.reached).toBe(false);
  alive = true;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(server.reached).toBe(true);
});

test("one request that fails alone says nothing of the server", async () => {
  status = 503;
  await api.get("/api/events").catch(() => {});
  await settled();
  expect(server.reached).toBe(true);
  alive = false;
  await api.get("/api/events").catch(() => {});
  await settled();
  expect(server.reached).toBe(false);
});

test("without a network nothing is heard either, though nothing was asked", () => {
  expect(awaySince()).toBeNull();
  vi.stubGlobal("navigator", { onLine: false });
  window.dispatchEvent(new Event("offline"));
  expect(awaySince()).toBe(serverTime(server.heardAt));
  vi.stubGlobal("navigator", { onLine: true });
  window.dispatchEvent(new Event("online"));
  expect(awaySince()).toBeNull();
});

test("while nothing is heard, time stands still for what is known", async () => {
  const heard = serverTime();
  alive = false;
  await ask();
  expect(server.reached).toBe(false);
  expect(lastKnown(heard + 600_000)).toBeLessThanOrEqual(heard + 1_000);
  alive = true;
  await ask();
  expect(lastKnown(heard + 600_000)).toBe(heard + 600_000);
});
