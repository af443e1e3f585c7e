import type { Timestamp } from "../../../shared/core/engine.ts";

const clockTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayTime = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "long",
  hour: "2-digit",
  minute: "2-digit",
});
const number = new Intl.NumberFormat("en-GB");

/** A time of today as `19:42`, of another day with its date. */
export function time(at: Timestamp, now: number = Date.now()): string {
  const date = new Date(at);
  return new Date(now).toDateString() === date.toDateString() ? clockTime.format(date) : dayTime.format(date);
}

/** `Sun 7 June, 19:30`. */
export function day(at: Timestamp): string {
  return dayTime.format(new Date(at));
}

/** A span as staff say it: `4 s`, `12 min`, `2 h 5 min`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 || hours >= 48 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

export function count(n: number): string {
  return number.format(n);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A pairing code as people read it out: without the prefix that all have, in groups of four. */
export function grouped(token: string): string {
  return (token.replace(/^admit_pt_/, "").match(/.{1,4}/g) ?? []).join(" ");
}
