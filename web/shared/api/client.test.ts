import { expect, test } from "vitest";
import { readClock, serverTime } from "./client.ts";

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
