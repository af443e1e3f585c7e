import type { Timestamp } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { local } from "./zone.ts";

/** A time by the event's clock: `19:42` for today, and with its date for another day. */
export function time(at: Timestamp, now: number = Date.now()): string {
  const date = local(at);
  const sameDay = date.toISOString().slice(0, 10) === local(now).toISOString().slice(0, 10);
  return sameDay ? words.format.clock(date) : words.format.day(date);
}

/** `Sun 7 June, 19:30`, by the event's clock. */
export function day(at: Timestamp): string {
  return words.format.day(local(at));
}

/** A duration as people write it: `4 s`, `12 min`, `2 h 5 min`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return words.format.seconds(seconds);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return words.format.minutes(minutes);
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 || hours >= 48 ? words.format.hours(hours) : words.format.hoursMinutes(hours, minutes % 60);
}

export function megabytes(bytes: number): string {
  return words.format.megabytes(bytes / 1_000_000);
}

/** A pairing code as people read it out: in groups of four characters, without the prefix that all codes have. */
export function grouped(token: string): string {
  return (token.replace(/^admit_pt_/, "").match(/.{1,4}/g) ?? []).join(" ");
}
