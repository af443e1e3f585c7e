/** Persons a minute by gate over the last hour, for the chart, its table and the rows of gates. */
import type { GateView, MinuteRow } from "../../../shared/api/types";
import { clock } from "./times.ts";

export const MINUTES = 60;
const MINUTE = 60_000;
/** The number of gates with a colour of their own. All others share one layer. */
const COLOURS = 4;
/** The rate is the mean of this many whole minutes. */
const RATE = 5;

export interface Series {
  id: string;
  /** The gate's name. `null`: the layer of gates that share the last colour. */
  name: string | null;
  gates: number;
  values: number[];
}

/** The first minute of the hour, by the server's clock. The present minute, which is not over yet, is left out. */
export const firstMinute = (now: number): number => Math.floor(now / MINUTE) - MINUTES;

/** The shortest time that the chart shows, in minutes. */
const SHORTEST = 15;
/** The first minute of the chart: shortly before the first person of the hour. So the chart is not mostly empty after doors open. */
export function firstShown(layers: readonly Series[]): number {
  const first = Math.min(MINUTES, ...layers.map((layer) => layer.values.findIndex((value) => value > 0)).filter((at) => at >= 0));
  return Math.max(0, Math.min(first - 1, MINUTES - SHORTEST));
}

function minutesOf(rows: readonly MinuteRow[], from: number, wanted: (row: MinuteRow) => boolean, value: (row: MinuteRow) => number): number[] {
  const line = new Array<number>(MINUTES).fill(0);
  for (const row of rows) {
    const at = Math.floor(Date.parse(row.at) / MINUTE) - from;
    if (at >= 0 && at < MINUTES && wanted(row)) line[at] = (line[at] ?? 0) + value(row);
  }
  return line;
}
const sum = (line: readonly number[]): number => line.reduce((all, one) => all + one, 0);

/**
 * Makes one layer for each gate that let anybody in. If there are more gates than colours, all but the busiest share one. Layers
 * are in the order of the gates, so that gates that are equally busy do not swap their colours from minute to minute.
 */
export function series(rows: readonly MinuteRow[], gates: readonly GateView[], now: number): Series[] {
  const from = firstMinute(now);
  return layered(gates, (gate) => minutesOf(rows, from, (row) => row.gate_id === gate.id, (row) => row.entered));
}

/** The layers of a chart, each with the values of one gate. If there are more gates than colours, all but the busiest share one. */
export function layered<Gate extends Pick<GateView, "id" | "name">>(gates: readonly Gate[], values: (gate: Gate) => number[]): Series[] {
  const all = gates
    .map((gate) => ({ id: gate.id, name: gate.name, gates: 1, values: values(gate) }))
    .filter((one) => sum(one.values) > 0)
    .sort((a, b) => sum(b.values) - sum(a.values));
  const place = (one: Series): number => gates.findIndex((gate) => gate.id === one.id);
  const inOrder = (some: Series[]): Series[] => [...some].sort((a, b) => place(a) - place(b));
  if (all.length <= COLOURS) return inOrder(all);
  const rest = all.slice(COLOURS - 1);
  const together = rest[0]?.values.map((_, at) => sum(rest.map((one) => one.values[at] ?? 0))) ?? [];
  return [...inOrder(all.slice(0, COLOURS - 1)), { id: "rest", name: null, gates: rest.length, values: together }];
}

/** The data of a chart and its table. */
export interface Picture {
  layers: Series[];
  /** The times below the chart. `at`: the index of the value. */
  times: { at: number; text: string }[];
  /** The time of the value with this index, as text. */
  at: (place: number) => string;
}
/** The chart of the last hour by minute, from shortly before its first person. `from`: the first minute of the hour. */
export function lastHour(rows: readonly MinuteRow[], gates: readonly GateView[], from: number, zone: string): Picture {
  const hour = series(rows, gates, (from + MINUTES) * MINUTE);
  const begin = firstShown(hour);
  const count = MINUTES - begin;
  const at = (place: number): string => clock((from + begin + place) * MINUTE, zone);
  // A time stands at every quarter of an hour, or at every five minutes if the chart is short. None stands too near the right edge.
  const step = count > 30 ? 15 : 5;
  const times = Array.from({ length: count }, (_, place) => place)
    .filter((place) => (from + begin + place) % step === 0 && place < (count - 1) * 0.96)
    .map((place) => ({ at: place, text: at(place) }));
  return { layers: hour.map((layer) => ({ ...layer, values: layer.values.slice(begin) })), times, at };
}

/** Persons a minute at one gate or at all: the mean of the last five whole minutes. */
export function rate(rows: readonly MinuteRow[], now: number, gate?: string): number {
  const line = minutesOf(rows, firstMinute(now), (row) => gate === undefined || row.gate_id === gate, (row) => row.entered);
  return sum(line.slice(-RATE)) / RATE;
}

/** A gate's hour in twelve steps of five minutes, for the small line in its row. */
export function spark(rows: readonly MinuteRow[], now: number, gate: string): number[] {
  const line = minutesOf(rows, firstMinute(now), (row) => row.gate_id === gate, (row) => row.entered + row.exited);
  return Array.from({ length: MINUTES / RATE }, (_, at) => sum(line.slice(at * RATE, (at + 1) * RATE)));
}

/** Persons refused at a gate during the hour. */
export const refused = (rows: readonly MinuteRow[], now: number, gate: string): number =>
  sum(minutesOf(rows, firstMinute(now), (row) => row.gate_id === gate, (row) => row.refused));

/** The marks of a scale from 0 to `most`: whole numbers, five at most. */
export function marks(most: number): number[] {
  const steps = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1_000, 2_000, 5_000];
  const step = steps.find((one) => most / one <= 4) ?? Math.ceil(most / 4);
  const top = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: top + 1 }, (_, at) => at * step);
}
