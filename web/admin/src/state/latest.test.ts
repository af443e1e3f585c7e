import { expect, test } from "vitest";
import { latest } from "./latest.ts";

test("of two readings that overlap only the later is shown", () => {
  const begin = latest();
  const first = begin();
  expect(first()).toBe(true);
  const second = begin();
  expect(first()).toBe(false);
  expect(second()).toBe(true);
});
