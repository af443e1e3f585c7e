import { expect, test } from "vitest";
import { fromZoneInput, readClock, toZoneInput, zones } from "./zone.ts";

test("a time is shown and read in the event's zone, wherever the browser is", () => {
  expect(toZoneInput("2026-11-22T19:00:00Z", "Europe/Lisbon")).toBe("2026-11-22T19:00");
  expect(toZoneInput("2026-11-22T19:00:00Z", "America/New_York")).toBe("2026-11-22T14:00");
  expect(toZoneInput("2026-11-22T19:00:00Z", "Asia/Kathmandu")).toBe("2026-11-23T00:45");
  for (const zone of ["Europe/Lisbon", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland"]) {
    for (const at of ["2026-01-15T12:00:00.000Z", "2026-07-15T23:30:00.000Z", "2026-11-01T09:15:00.000Z"]) {
      expect(fromZoneInput(toZoneInput(at, zone), zone)).toBe(at);
    }
  }
});

test("an hour the clocks skip is the one after it, an hour they repeat is the first", () => {
  expect(fromZoneInput("2026-03-29T02:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  expect(fromZoneInput("2026-10-25T02:30", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
});

test("the list of zones holds an event's own, even where the browser does not name it", () => {
  expect(zones("Etc/GMT+3")).toContain("Etc/GMT+3");
  expect(zones()).toContain("UTC");
});

test("a time is read as people type it, by a 24-hour clock", () => {
  expect(["8", "20", "930", "2030", "20:30", "20.30", " 7:05 ", "0:00"].map(readClock)).toEqual(["08:00", "20:00", "09:30", "20:30", "20:30", "20:30", "07:05", "00:00"]);
  expect(["", "24", "20:60", "8pm", "12345", "20:3"].map(readClock)).toEqual(["", "", "", "", "", ""]);
});
