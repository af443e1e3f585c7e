import { expect, test } from "vitest";
import { firstTimes, matches, movedEnd, ordered, overdue, stateOf } from "./events.ts";

test("what is open comes first, then the next, then what was last", () => {
  const event = (id: string, status: "draft" | "live" | "ended", day: number) => ({ id, status, starts_at: `2026-11-${day}T20:00:00Z`, ends_at: `2026-11-${day}T23:00:00Z` });
  const now = Date.parse("2026-11-27T21:00:00Z");
  const events = [event("never opened", "draft", 12), event("forgotten", "live", 20), event("old", "ended", 10), event("later", "draft", 28), event("now", "live", 27), event("next", "draft", 27), event("older", "ended", 11)];
  expect(ordered(events, now).map((one) => one.id)).toEqual(["now", "forgotten", "next", "later", "never opened", "older", "old"]);
  expect(events.filter((one) => overdue(one, now)).map((one) => one.id)).toEqual(["forgotten"]);
});

test("doors that are open past the event's end are said to be that", () => {
  const ends_at = "2026-11-27T23:00:00Z";
  const [before, after] = [Date.parse("2026-11-27T22:00:00Z"), Date.parse("2026-11-28T00:00:00Z")];
  expect(stateOf({ status: "live", ends_at }, before)).toEqual({ words: "Doors open", tone: "ok" });
  expect(stateOf({ status: "live", ends_at }, after)).toEqual({ words: "Past its end", tone: "warn" });
  expect(stateOf({ status: "ended", ends_at }, before)).toEqual({ words: "Ended", tone: "still" });
  expect(stateOf({ status: "draft", ends_at }, before)).toEqual({ words: "Draft", tone: "still" });
  expect(stateOf({ status: "draft", ends_at }, after)).toEqual({ words: "Never opened", tone: "still" });
});

test("an event is found by words of its name and place, without accents", () => {
  const event = { name: "Fête de la Musique", venue: "Old Harbour" };
  expect(matches(event, "fete har")).toBe(true);
  expect(matches(event, "")).toBe(true);
  expect(matches(event, "fete rock")).toBe(false);
});

test("a new event is on the coming Saturday, and its end moves with its start", () => {
  expect(firstTimes("2026-11-27")).toEqual({ starts: "2026-11-28T20:00", ends: "2026-11-29T02:00" });
  expect(firstTimes("2026-11-28").starts).toBe("2026-12-05T20:00");
  expect(movedEnd("2026-11-28T20:00", "2026-12-31T21:30", "2026-11-29T02:00")).toBe("2027-01-01T03:30");
  expect(movedEnd("", "2026-12-31T21:30", "2026-11-29T02:00")).toBe("2026-11-29T02:00");
});
