import { expect, test, vi } from "vitest";
import { Reading } from "./reading.svelte.ts";

test("what was read last stays while a later reading fails, and a good one ends the failure", async () => {
  const read = vi.fn<() => Promise<number>>().mockResolvedValueOnce(1).mockRejectedValueOnce(new Error("Out of reach")).mockResolvedValueOnce(2);
  const reading = new Reading(read);
  expect(reading.value).toBeNull();
  await reading.load();
  await reading.load();
  expect([reading.value, reading.failure]).toEqual([1, "Out of reach"]);
  await reading.load();
  expect([reading.value, reading.failure]).toEqual([2, ""]);
});
