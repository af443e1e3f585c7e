import { expect, test } from "vitest";
import { exactTime, needDate } from "./format.ts";

test("scans of another day than the event's first, or of a clock a year ahead, are told with their date", () => {
  const event = { starts_at: "2026-11-20T21:00:00Z", time_zone: "Asia/Kathmandu" };
  // There it begins on Saturday, 02:45.
  const first = ["2026-11-21T14:00:00Z", "2026-11-21T18:14:59Z"];
  expect(needDate(first, event)).toBe(false);
  expect(needDate([], event)).toBe(false);
  expect(needDate([...first, "2026-11-21T18:15:00Z"], event)).toBe(true);
  expect(needDate(["2026-11-22T14:00:00Z", "2026-11-22T14:02:00Z"], event)).toBe(true);
  expect(needDate(["2027-11-21T14:00:00Z"], event)).toBe(true);
});

test("a time with its date names the day and the year, both in the event's zone", () => {
  const plain = exactTime("2027-11-21T20:00:00.120Z", "Asia/Kathmandu", false);
  const dated = exactTime("2027-11-21T20:00:00.120Z", "Asia/Kathmandu", true);
  expect(plain).toMatch(/45:00.120/);
  expect(plain).not.toContain("2027");
  expect(dated).toMatch(/45:00.120/);
  expect(dated).toContain("2027");
  expect(dated).toContain("22");
});
