import { afterEach, expect, test } from "vitest";
import { day, time } from "./format.ts";
import { goBy, local } from "./zone.ts";

const KATHMANDU = { zone: "Asia/Kathmandu", offsets: [{ from: "2026-05-01T00:00:00Z", offset_s: 20_700 }] };
const BERLIN = {
  zone: "Europe/Berlin",
  offsets: [
    { from: "2026-08-25T20:00:00Z", offset_s: 7_200 },
    { from: "2026-10-25T01:00:00Z", offset_s: 3_600 },
  ],
};

afterEach(() => goBy(() => undefined));

test("a moment is shown by the offset that holds at it", () => {
  const shown = (at: string) => local(at, BERLIN).toISOString().slice(11, 16);
  expect(shown("2026-10-25T00:59:59Z")).toBe("02:59");
  expect(shown("2026-10-25T01:00:00Z")).toBe("02:00");
  expect(shown("2026-12-24T17:42:00Z")).toBe("18:42");
  // Before the first known offset, that offset is used.
  expect(shown("2026-01-01T12:00:00Z")).toBe("14:00");
  expect(local("2026-07-01T13:57:00Z", KATHMANDU).toISOString()).toBe("2026-07-01T19:42:00.000Z");
});

test("texts of times go by the event's clock, whatever the phone's is", () => {
  goBy(() => KATHMANDU);
  // By UTC both moments are on 1 July. In Kathmandu the second is on 2 July.
  expect(time("2026-07-01T13:57:00Z", Date.parse("2026-07-01T17:00:00Z"))).toBe("19:42");
  expect(time("2026-07-01T13:57:00Z", Date.parse("2026-07-01T18:30:00Z"))).toBe(day("2026-07-01T13:57:00Z"));
  expect(day("2026-07-01T18:30:00Z")).toBe("Thu 2 July at 00:15");
});

test("before there is an event the phone's own clock is shown", () => {
  const at = new Date(2026, 6, 1, 19, 42);
  expect(time(at.toISOString(), at.getTime())).toBe("19:42");
});
