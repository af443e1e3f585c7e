/** The quarter hours of an event, for the report's chart, tables and file. */
import type { GateView, QuarterRow } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { layered, type Picture, type Series } from "./flow.ts";
import { clock, dateTime, day } from "./times.ts";

type Gate = Pick<GateView, "id" | "name">;

const QUARTER = 15 * 60_000;
const placeOf = (at: string): number => Math.floor(Date.parse(at) / QUARTER);

export interface Quarters {
  /** The start of the first quarter hour, in milliseconds. */
  from: number;
  /** The number of quarter hours: from one before the first entry, so that the line starts at 0, to one after the last or the present one. */
  count: number;
  layers: Series[];
  /** Persons let in by quarter hour, at all gates. */
  totals: number[];
  /** The index of the busiest quarter hour. */
  peak: number;
}

/**
 * The quarter hours of an event from its first entry to its last. `null`: nobody came in. While people still come, the caller gives
 * `now`. The line then ends at the present quarter hour and does not fall to 0 after it.
 */
export function quartersOf(rows: readonly QuarterRow[], gates: readonly Gate[], now: number | null = null): Quarters | null {
  const places = rows.filter((row) => row.entered > 0).map((row) => placeOf(row.at));
  if (places.length === 0) return null;
  const first = Math.min(...places) - 1;
  const last = now === null ? Math.max(...places) + 1 : Math.max(...places, Math.floor(now / QUARTER));
  const count = last - first + 1;
  const line = (gate: Gate): number[] => {
    const values = new Array<number>(count).fill(0);
    for (const row of rows) {
      const at = placeOf(row.at) - first;
      if (row.gate_id === gate.id && at >= 0 && at < count) values[at] = (values[at] ?? 0) + row.entered;
    }
    return values;
  };
  const layers = layered(gates, line);
  const totals = Array.from({ length: count }, (_, at) => layers.reduce((sum, layer) => sum + (layer.values[at] ?? 0), 0));
  return { from: first * QUARTER, count, layers, totals, peak: totals.indexOf(Math.max(...totals)) };
}

/** The start of the quarter hour with this index, in milliseconds. */
export const startOf = (quarters: Quarters, place: number): number => quarters.from + place * QUARTER;

/** Possible distances between times below the chart, in quarter hours. The smallest one that gives at most eight times is used. */
const STEPS = [1, 2, 4, 8, 12, 24, 48, 96] as const;
/** The times below the chart. If the distance is a day or more, the days are named instead. */
export function timesBelow(quarters: Quarters, zone: string, most = 8): { at: number; text: string }[] {
  const step = STEPS.find((one) => quarters.count / one <= most) ?? 96 * Math.ceil(quarters.count / 96 / most);
  const places = Array.from({ length: quarters.count }, (_, place) => place);
  const whole = places.filter((place) => Math.round(minutesOfDay(startOf(quarters, place), zone) / 15) % step === 0 && place < (quarters.count - 1) * 0.97);
  return whole.map((at) => ({ at, text: step >= 96 ? day(startOf(quarters, at), zone) : clock(startOf(quarters, at), zone) }));
}
function minutesOfDay(moment: number, zone: string): number {
  const [hours = 0, minutes = 0] = clock(moment, zone).split(":").map(Number);
  return hours * 60 + minutes;
}

/** The fewest quarter hours of a line. With more than these, the present quarter hour is not drawn. */
const LEAST_DRAWN = 3;
/**
 * The chart of the quarter hours. If the event has several days, times have their day. The present quarter hour is in the table but
 * not in the chart, where it would look as if people had stopped coming.
 */
export function pictureOf(rows: readonly QuarterRow[], gates: readonly Gate[], zone: string, now: number | null = null): Picture & { drawn?: number } {
  const quarters = quartersOf(rows, gates, now);
  if (quarters === null) return { layers: [], times: [], at: () => "" };
  const oneDay = day(startOf(quarters, 0), zone) === day(startOf(quarters, quarters.count - 1), zone);
  const at = (place: number): string => (oneDay ? clock : dateTime)(startOf(quarters, place), zone);
  const running = now !== null && startOf(quarters, quarters.count) > now && quarters.count > LEAST_DRAWN;
  return { layers: quarters.layers, times: timesBelow(quarters, zone), at, ...(running ? { drawn: quarters.count - 1 } : {}) };
}

export interface GateReport {
  id: string;
  name: string;
  entered: number;
  exited: number;
  refused: number;
  /** The gate's busiest quarter hour. `null`: nobody came in there. */
  busiest: { at: string; entered: number } | null;
}

/** The figures of each gate, in the order of the gates. */
export const gatesOf = (rows: readonly QuarterRow[], gates: readonly Gate[]): GateReport[] =>
  gates.map(({ id, name }) => {
    const own = rows.filter((row) => row.gate_id === id);
    const sum = (value: (row: QuarterRow) => number): number => own.reduce((all, row) => all + value(row), 0);
    const best = own.reduce<QuarterRow | null>((most, row) => (row.entered > (most?.entered ?? 0) ? row : most), null);
    return { id, name, entered: sum((row) => row.entered), exited: sum((row) => row.exited), refused: sum((row) => row.refused), busiest: best && { at: best.at, entered: best.entered } };
  });

/** A CSV cell that a spreadsheet never takes for a formula. */
const cell = (text: string): string => {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
};

/** The quarter hours as CSV, the oldest first. Times are UTC, as in every export. */
export function csvOf(rows: readonly QuarterRow[], gates: readonly Gate[]): string {
  const { csv } = words.report;
  const nameOf = (id: string): string => gates.find((gate) => gate.id === id)?.name ?? id;
  const lines = rows.map((row) => [row.at, nameOf(row.gate_id), String(row.entered), String(row.exited), String(row.refused)]);
  return [[csv.quarter, csv.gate, csv.entered, csv.exited, csv.refused], ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
