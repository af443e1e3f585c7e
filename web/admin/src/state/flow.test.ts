import { expect, test } from "vitest";
import type { GateView } from "../../../shared/api/types";
import { firstMinute, firstShown, lastHour, marks, MINUTES, rate, refused, series, spark } from "./flow.ts";

const NOW = Date.parse("2026-11-27T18:45:30Z");
const row = (gate_id: string, ago: number, entered: number, more = {}) => ({
  gate_id, at: new Date(Math.floor(NOW / 60_000) * 60_000 - ago * 60_000).toISOString(), entered, exited: 0, refused: 0, ...more,
});
const gate = (id: string) => ({ id, name: id.toUpperCase() }) as GateView;

test("each gate is a layer in the order of the gates, however busy, and the minute that is not over does not dip", () => {
  const rows = [row("a", 1, 3), row("b", 1, 9), row("b", 0, 2), row("c", 70, 5)];
  const layers = series(rows, [gate("a"), gate("b"), gate("c")], NOW);
  expect(layers.map((one) => [one.name, one.values[MINUTES - 1]])).toEqual([["A", 3], ["B", 9]]);
});

test("a door that opened ten minutes ago fills a quarter of an hour, an old one the hour", () => {
  expect(firstShown(series([row("a", 10, 1)], [gate("a")], NOW))).toBe(MINUTES - 15);
  expect(firstShown(series([row("a", 40, 1)], [gate("a")], NOW))).toBe(MINUTES - 41);
  expect(firstShown(series([row("a", 60, 1)], [gate("a")], NOW))).toBe(0);
});

test("the hour is drawn from its first person on, with the event's times below it", () => {
  const hour = lastHour([row("a", 10, 3)], [gate("a")], firstMinute(NOW), "Europe/Berlin");
  expect(hour.layers[0]?.values).toEqual([0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect([hour.at(5), hour.times]).toEqual(["19:35", [{ at: 0, text: "19:30" }, { at: 5, text: "19:35" }, { at: 10, text: "19:40" }]]);
});

test("from the fourth gate on they share a layer", () => {
  const ids = ["a", "b", "c", "d", "e", "f"];
  const layers = series(ids.map((id, at) => row(id, 2, 10 - at)), ids.map(gate), NOW);
  expect(layers.map((one) => [one.name, one.gates])).toEqual([["A", 1], ["B", 1], ["C", 1], [null, 3]]);
  expect(layers[3]?.values[MINUTES - 2]).toBe(7 + 6 + 5);
});

test("a rate is the mean of the last five whole minutes", () => {
  const rows = [row("a", 0, 50), row("a", 1, 4), row("a", 5, 6), row("a", 6, 90), row("b", 2, 5)];
  expect(rate(rows, NOW)).toBe(3);
  expect(rate(rows, NOW, "a")).toBe(2);
  expect(spark(rows, NOW, "a").slice(-2)).toEqual([90, 10]);
  expect(refused([row("a", 3, 0, { refused: 4 }), row("b", 3, 0, { refused: 1 })], NOW, "a")).toBe(4);
});

test("a scale has whole numbers, five marks at most", () => {
  expect(marks(0)).toEqual([0, 1]);
  expect(marks(3)).toEqual([0, 1, 2, 3]);
  expect(marks(38)).toEqual([0, 10, 20, 30, 40]);
  expect(marks(41)).toEqual([0, 20, 40, 60]);
  expect(marks(9_000)).toEqual([0, 5_000, 10_000]);
});
