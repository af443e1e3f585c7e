import { expect, test } from "vitest";
import { ago, apart, clock, clockSeconds, dateTime, day, doors, length, longSpan, span, when } from "./times.ts";

const NOW = Date.parse("2026-11-27T18:45:00Z");
const ZONE = "Europe/Berlin";

test("every time is of the event's zone, by a 24-hour clock, with its weekday", () => {
  expect(clock("2026-11-27T18:52:04.220Z", ZONE)).toBe("19:52");
  expect(clock("2026-11-27T23:10:00Z", ZONE)).toBe("00:10");
  expect(clockSeconds("2026-11-27T18:52:04.220Z", ZONE)).toBe("19:52:04");
  expect(day("2026-11-27T18:52:00Z", ZONE, NOW)).toBe("Fri 27 Nov");
  expect(day("2027-01-10T14:15:00Z", "Asia/Kathmandu", NOW)).toBe("Sun 10 Jan 2027");
  expect(dateTime("2026-11-27T18:52:00Z", ZONE, NOW)).toBe("Fri 27 Nov, 19:52");
  // A day begins at the event's midnight.
  expect(when("2026-11-27T22:59:00Z", ZONE, NOW)).toBe("23:59");
  expect(when("2026-11-27T23:01:00Z", ZONE, NOW)).toBe("Sat 28 Nov, 00:01");
});

test("a span names the day of its end only where it is another", () => {
  expect(span("2026-11-27T16:30:00Z", "2026-11-27T22:30:00Z", ZONE, NOW)).toBe("Fri 27 Nov, 17:30 to 23:30");
  expect(span("2026-11-27T19:00:00Z", "2026-11-28T01:00:00Z", ZONE, NOW)).toBe("Fri 27 Nov, 20:00 to Sat 02:00");
  expect(span("2026-11-20T19:00:00Z", "2026-12-01T01:00:00Z", ZONE, NOW)).toBe("Fri 20 Nov, 20:00 to Tue 1 Dec, 02:00");
  expect(longSpan("2026-11-27T16:30:00Z", "2026-11-27T22:30:00Z", ZONE)).toBe("Friday 27 November 2026, 17:30 to 23:30");
});

test("a length has its two largest parts, and what just happened is now", () => {
  expect([40_000, 11 * 60_000, 124 * 60_000, 120 * 60_000, 9.4 * 86_400_000].map(length)).toEqual(["40 s", "11 min", "2 h 04 min", "2 h", "9 days"]);
  // Each length is rounded, and never becomes "60 s" or "60 min".
  expect([59_400, 59_600, 220_000, 59.6 * 60_000, 2.99 * 86_400_000].map(length)).toEqual(["59 s", "1 min", "4 min", "1 h", "3 days"]);
  expect(ago(null, NOW)).toBe("never");
  expect(ago("2026-11-27T18:44:55Z", NOW)).toBe("just now");
  expect(ago("2026-11-27T18:34:00Z", NOW)).toBe("11 min ago");
  expect(ago("2026-11-27T18:45:15Z", NOW)).toBe("in 15 s");
});

test("the doors are told by the event's state and its times", () => {
  const event = { status: "live", starts_at: "2026-11-27T16:41:00Z", ends_at: "2026-11-27T22:30:00Z", time_zone: ZONE };
  expect(doors(event, NOW)).toBe("Doors open for 2 h 04 min · ends 23:30");
  expect(doors({ ...event, status: "draft" }, NOW - 9 * 86_400_000)).toBe("Doors in 9 days");
  expect(doors({ ...event, status: "draft" }, NOW)).toBe("Fri 27 Nov, 17:41 to 23:30");
  expect(doors({ ...event, status: "ended" }, Date.parse(event.ends_at) + 1)).toBe("Ended · the event ran until 23:30");
  expect(doors({ ...event, status: "ended" }, NOW)).toBe("Ended · it was planned until 23:30");
  expect(doors(event, NOW - 4 * 3_600_000)).toBe("Doors are open · starts 17:41");
});

test("from two days on moments are apart by days of the calendar, as people count them", () => {
  const zone = "Europe/Berlin";
  const [saturday, tuesday] = ["2026-11-28T13:20:00+01:00", "2026-12-01T13:19:00+01:00"];
  expect(apart(saturday, tuesday, zone)).toBe("3 days");
  expect(apart(tuesday, saturday, zone)).toBe("3 days");
  expect(apart(saturday, "2026-11-30T13:19:00+01:00", zone)).toBe("47 h 59 min");
  expect(apart(saturday, "2026-11-30T23:59:00+01:00", zone)).toBe("2 days");
  // 25 October has 25 hours, because the clocks go back.
  expect(apart("2026-10-24T12:00:00+02:00", "2026-10-26T12:00:00+01:00", zone)).toBe("2 days");
});
