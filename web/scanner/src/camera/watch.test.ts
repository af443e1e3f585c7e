import { expect, test } from "vitest";
import { FROZEN_AFTER_MS, FrameWatch } from "./watch.ts";

test("a picture that stands still for ten seconds is frozen; one that goes on is not", () => {
  const watch = new FrameWatch();
  expect(watch.isFrozen(0, true)).toBe(false);
  expect(watch.isFrozen(FROZEN_AFTER_MS - 1, true)).toBe(false);
  expect(watch.isFrozen(FROZEN_AFTER_MS, true)).toBe(true);
  watch.frame(FROZEN_AFTER_MS);
  expect(watch.isFrozen(FROZEN_AFTER_MS + 1, true)).toBe(false);
  expect(watch.isFrozen(2 * FROZEN_AFTER_MS, true)).toBe(true);
});

test("while nobody sees the page no frame is missed, and after it the time begins anew", () => {
  const watch = new FrameWatch();
  watch.frame(0);
  expect(watch.isFrozen(60_000, false)).toBe(false);
  expect(watch.isFrozen(60_001, true)).toBe(false);
  expect(watch.isFrozen(60_001 + FROZEN_AFTER_MS, true)).toBe(true);
});

test("a camera opened anew has all the time again", () => {
  const watch = new FrameWatch();
  watch.frame(0);
  watch.anew();
  expect(watch.isFrozen(FROZEN_AFTER_MS, true)).toBe(false);
});
