/** Numbers and times as people read them, in the reader's language. */
import type { EventView } from "../../../shared/api/types";
import { toZoneInput } from "./zone.ts";

const whole = new Intl.NumberFormat();
export const number = (value: number): string => whole.format(value);

export function time(at: string | null, zone?: string): string {
  if (!at) return "never";
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: zone });
}

/** To the millisecond: two scans of one second are told apart. */
export function exactTime(at: string, zone: string, dated: boolean): string {
  const day = dated ? ({ year: "numeric", month: "short", day: "numeric" } as const) : {};
  return new Date(at).toLocaleString(undefined, {
    ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, timeZone: zone,
  });
}

/** Whether times that are read together need their date: not all of them are of the day on which the event begins. */
export function needDate(times: readonly string[], event: Pick<EventView, "starts_at" | "time_zone">): boolean {
  const day = (at: string): string => toZoneInput(at, event.time_zone).slice(0, 10);
  return times.some((at) => day(at) !== day(event.starts_at));
}
export function clock(at: number, zone?: string): string {
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", timeZone: zone });
}

export function dateTime(at: string, zone?: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: zone });
}

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
export function ago(at: string | null, now: number): string {
  if (!at) return "never";
  const passed = Date.parse(at) - now;
  const [unit, size] = steps.find(([, size]) => Math.abs(passed) >= size) ?? ["second", 1_000];
  return relative.format(Math.round(passed / size), unit);
}

const kinds: Record<string, string> = {
  double_entry: "Entered twice",
  admitted_in_error: "Admitted in error",
  refused_in_error: "Refused in error",
  unverified_scan: "Unverified scan",
  implausible_time: "Implausible time",
  future_time: "Time in the future",
  clock_suspect: "Clock is suspect",
  scan_id_reused: "Scan id used twice",
  log_forked: "Two scans in one place of a log",
  exit_without_entry: "Left without having entered",
  duplicate_scan: "Scanned again",
};
export const kindName = (kind: string): string => kinds[kind] ?? kind;
