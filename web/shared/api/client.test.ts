import { afterEach, expect, test, vi } from "vitest";
import { api, readClock, readEarly, serverTime } from "./client.ts";

afterEach(() => vi.unstubAllGlobals());

test("the server's clock is kept from its answers, its whole seconds do not make it jump", () => {
  const here = Date.parse("2026-06-07T19:06:00Z");
  readClock("Sun, 07 Jun 2026 19:00:00 GMT", here, here + 100);
  expect(Math.abs(serverTime(here) - Date.parse("2026-06-07T19:00:00Z"))).toBeLessThan(1_000);
  const before = serverTime(here);
  readClock("Sun, 07 Jun 2026 19:00:01 GMT", here + 1_900, here + 1_950);
  expect(serverTime(here)).toBe(before);
  // An answer that tells no time changes nothing.
  readClock(null, here, here);
  readClock("soon", here, here);
  expect(serverTime(here)).toBe(before);
});

test("a reading that was begun early is taken once, and one that failed is made anew", async () => {
  const asked: string[] = [];
  let status = 200;
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return new Response(JSON.stringify({ nth: asked.length }), { status });
  });
  void readEarly("/api/events/e");
  expect(await api.get("/api/events/e")).toEqual({ nth: 1 });
  expect(await api.get("/api/events/e")).toEqual({ nth: 2 });
  status = 500;
  await readEarly("/api/events/e");
  status = 200;
  expect(await api.get("/api/events/e")).toEqual({ nth: 4 });
});
