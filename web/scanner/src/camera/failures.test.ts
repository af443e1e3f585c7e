import { expect, test } from "vitest";
import { Failures, NoSurface, TOLD_AFTER } from "./failures.ts";

const fails = (failures: Failures, times: number) => Array.from({ length: times }, () => failures.failed(new Error("Aborted()")));

test("a frame now and then that cannot be read is nothing to tell; a row of them is, once", () => {
  const failures = new Failures();
  expect(fails(failures, TOLD_AFTER - 1)).toEqual(Array(TOLD_AFTER - 1).fill(null));
  expect(failures.read()).toBe(false);
  expect(fails(failures, TOLD_AFTER - 1)).toEqual(Array(TOLD_AFTER - 1).fill(null));
  expect(failures.failed(new Error("Aborted()"))).toEqual({ reason: "failing", error: "Aborted()" });
  expect(fails(failures, 100).every((told) => told === null)).toBe(true);
});

test("a browser that can never do it is told at the first frame", () => {
  expect(new Failures().failed(new NoSurface())).toEqual({ reason: "no_surface", error: "" });
});

test("the first frame that is read takes it back, and a later row is told anew", () => {
  const failures = new Failures();
  fails(failures, TOLD_AFTER);
  expect(failures.read()).toBe(true);
  expect(failures.read()).toBe(false);
  expect(fails(failures, TOLD_AFTER).at(-1)).not.toBeNull();
});
