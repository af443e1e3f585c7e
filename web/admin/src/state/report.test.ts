import { expect, test } from "vitest";
import type { QuarterRow } from "../../../shared/api/types";
import { csvOf, gatesOf, pictureOf, quartersOf, startOf, timesBelow } from "./report.ts";

const gates = [{ id: "north", name: "North" }, { id: "south", name: "=South, left" }, { id: "out", name: "Way out" }];
const row = (at: string, gate_id: string, entered: number, exited = 0, refused = 0): QuarterRow => ({ at: `2026-11-27T${at}:00Z`, gate_id, entered, exited, refused });
const rows = [row("17:00", "north", 0, 0, 2), row("19:00", "north", 30), row("19:15", "north", 12), row("19:15", "south", 40, 0, 1), row("20:00", "south", 4), row("22:30", "out", 0, 60)];

test("the picture goes from the first entry to the last, and begins and ends on the ground", () => {
  const quarters = quartersOf(rows, gates)!;
  expect(quarters.totals).toEqual([0, 30, 52, 0, 0, 4, 0]);
  expect(quarters.layers.map(({ id, values }) => [id, values])).toEqual([["north", [0, 30, 12, 0, 0, 0, 0]], ["south", [0, 0, 40, 0, 0, 4, 0]]]);
  expect(new Date(startOf(quarters, quarters.peak)).toISOString()).toBe("2026-11-27T19:15:00.000Z");
  expect(quartersOf([row("17:00", "north", 0, 0, 2)], gates)).toBeNull();
});

test("while people still come the line goes to the present quarter hour, which is drawn once it is over", () => {
  const now = Date.parse("2026-11-27T20:20:00Z");
  expect(quartersOf(rows, gates, now)!.totals).toEqual([0, 30, 52, 0, 0, 4, 0]);
  expect(pictureOf(rows, gates, "UTC", now).drawn).toBe(6);
  // The phones' clocks are ahead of the server's. All their entries are shown nevertheless.
  expect(quartersOf(rows, gates, Date.parse("2026-11-27T19:50:00Z"))!.totals).toEqual([0, 30, 52, 0, 0, 4]);
  expect(pictureOf(rows, gates, "UTC").drawn).toBeUndefined();
  expect(pictureOf([row("20:15", "north", 3)], gates, "UTC", now).drawn).toBeUndefined();
});

test("the times below it are whole hours of the event's zone where there is room, days where it has several", () => {
  const quarters = quartersOf(rows, gates)!;
  expect(timesBelow(quarters, "Asia/Kathmandu").map(({ text }) => text)).toEqual(["00:30", "00:45", "01:00", "01:15", "01:30", "01:45"]);
  expect(timesBelow(quarters, "Europe/Berlin", 3).map(({ text }) => text)).toEqual(["20:00", "21:00"]);
  const long = quartersOf([row("19:00", "north", 1), { ...row("19:00", "north", 1), at: "2026-12-01T19:00:00Z" }], gates)!;
  expect(timesBelow(long, "UTC", 6).map(({ text }) => text)).toEqual(["Sat 28 Nov", "Sun 29 Nov", "Mon 30 Nov", "Tue 1 Dec"]);
});

test("a time is told with its day where the event has several, and nothing is drawn where nobody came", () => {
  expect(pictureOf(rows, gates, "UTC").at(1)).toBe("19:00");
  expect(pictureOf([row("19:00", "north", 1), { ...row("19:00", "north", 1), at: "2026-12-01T19:00:00Z" }], gates, "UTC").at(1)).toMatch(/27 Nov.*19:00/);
  expect(pictureOf([], gates, "UTC").layers).toEqual([]);
});

test("each gate has its sums and its busiest quarter hour", () => {
  expect(gatesOf(rows, gates).map(({ id, entered, exited, refused, busiest }) => [id, entered, exited, refused, busiest?.entered ?? null])).toEqual([
    ["north", 42, 0, 2, 30], ["south", 44, 0, 1, 40], ["out", 0, 60, 0, null],
  ]);
});

test("in the file no gate's name is a formula or breaks a line", () => {
  expect(csvOf(rows.slice(2, 4), gates)).toBe('From (UTC),Gate,In,Out,Refused\r\n2026-11-27T19:15:00Z,North,12,0,0\r\n2026-11-27T19:15:00Z,"\'=South, left",40,0,1\r\n');
});
