import { expect, test } from "vitest";
import type { EventView } from "../../../shared/api/types";
import { afterSave, changedEvent, changes, eventForm, savedWords } from "./changes.ts";

const event = {
  name: "Night", venue: "Pier", time_zone: "Europe/Berlin", re_entry: "never", min_gap_seconds: 0,
  starts_at: "2026-06-07T18:00:30Z", ends_at: "2026-06-07T23:00:00Z",
} as unknown as EventView;

test("a form sends the fields that were changed", () => {
  expect(changes({ a: 1, b: "x" }, { a: 1, b: "y" })).toEqual({ b: "y" });
});

test("a save of an event leaves alone what was not touched", () => {
  const before = eventForm(event);
  expect(changedEvent(before, { ...before })).toEqual({});
  expect(changedEvent(before, { ...before, venue: "Hall" })).toEqual({ venue: "Hall" });
  expect(changedEvent(before, { ...before, ends_at: "2026-06-08T02:00" })).toEqual({ ends_at: "2026-06-08T00:00:00.000Z" });
});

test("another zone takes both times with it", () => {
  const before = eventForm(event);
  expect(changedEvent(before, { ...before, time_zone: "Europe/London" })).toEqual({
    time_zone: "Europe/London", starts_at: "2026-06-07T19:00:00.000Z", ends_at: "2026-06-08T00:00:00.000Z",
  });
});

test("what is typed while a save is under way stays typed, and is not called saved", () => {
  const sent = { name: "Night ", venue: "Hall", capacity: 10 };
  const held = { name: "Night", venue: "Hall", capacity: 12 };
  expect(afterSave(sent, { ...sent }, held)).toEqual(held);
  expect(savedWords(sent, { ...sent })).toBe("Saved.");
  const typed = { ...sent, venue: "Pier" };
  expect(afterSave(sent, typed, held)).toEqual({ name: "Night", venue: "Pier", capacity: 12 });
  expect(savedWords(sent, typed)).toMatch(/changed more since then: save again/);
  // The next save sends the field that was changed during the first.
  expect(changes(held, afterSave(sent, typed, held))).toEqual({ venue: "Pier" });
});
