/**
 * Formats all times of the app: by a 24-hour clock, in the event's own time zone, and with the day if it is not today. The words
 * come from the catalogue.
 */
import { words } from "../../../shared/words/organiser/index.ts";

const { times, locale } = words;
export const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

type Moment = string | number;
const at = (moment: Moment): number => (typeof moment === "number" ? moment : Date.parse(moment));

const formats = new Map<string, Intl.DateTimeFormat>();
/** Gives a format from a cache. Making one is slow, and a page needs hundreds. */
function format(zone: string, name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${name}`;
  let known = formats.get(key);
  if (!known) formats.set(key, (known = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone, hourCycle: "h23" })));
  return known;
}

/** "19:52". */
export const clock = (moment: Moment, zone: string): string => format(zone, "clock", { hour: "2-digit", minute: "2-digit" }).format(at(moment));

/** "19:52:04". */
export const clockSeconds = (moment: Moment, zone: string): string =>
  format(zone, "seconds", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at(moment));

/** The day as sortable text. Two moments are on the same day if it is equal. */
const dayKey = (moment: Moment, zone: string): string =>
  format(zone, "key", { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(at(moment)).map((part) => part.value).join("");
/** The number of the day in the zone's calendar. */
function dayNumber(moment: Moment, zone: string): number {
  const parts = format(zone, "key", { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(at(moment));
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of("year"), of("month") - 1, of("day")) / DAY;
}
const yearOf = (moment: Moment, zone: string): string => format(zone, "year", { year: "numeric" }).format(at(moment));

/** Removes the comma that some languages put after a weekday. */
const plain = (text: string): string => text.replace(",", "");

/** "Sat 27 Nov", with the year if it is not that of `now`. */
export function day(moment: Moment, zone: string, now: number = Date.now()): string {
  const short = { weekday: "short", day: "numeric", month: "short" } as const;
  if (yearOf(moment, zone) === yearOf(now, zone)) return plain(format(zone, "day", short).format(at(moment)));
  return plain(format(zone, "dayYear", { ...short, year: "numeric" }).format(at(moment)));
}

/** "Saturday 27 November 2026". */
export const longDay = (moment: Moment, zone: string): string =>
  plain(format(zone, "longDay", { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(at(moment)));

const weekday = (moment: Moment, zone: string): string => format(zone, "weekday", { weekday: "short" }).format(at(moment));

/** "Sat 27 Nov, 19:52". */
export const dateTime = (moment: Moment, zone: string, now: number = Date.now()): string => times.at(day(moment, zone, now), clock(moment, zone));

/** "19:52" today, "Sat 27 Nov, 19:52" on another day. */
export const when = (moment: Moment, zone: string, now: number): string =>
  dayKey(moment, zone) === dayKey(now, zone) ? clock(moment, zone) : dateTime(moment, zone, now);

/** The end of a span: "23:30" on the same day, "Sun 02:00" on the day after, and with its whole date later. */
function endOf(from: Moment, to: Moment, zone: string, now: number): string {
  if (dayKey(from, zone) === dayKey(to, zone)) return clock(to, zone);
  if (at(to) - at(from) < 6 * DAY) return `${weekday(to, zone)} ${clock(to, zone)}`;
  return dateTime(to, zone, now);
}

/** "Sat 27 Nov, 17:30 to 23:30". */
export const span = (from: Moment, to: Moment, zone: string, now: number = Date.now()): string =>
  times.span(dateTime(from, zone, now), endOf(from, to, zone, now));

/** "Saturday 27 November 2026, 17:30 to 23:30". */
export const longSpan = (from: Moment, to: Moment, zone: string): string =>
  times.span(times.at(longDay(from, zone), clock(from, zone)), endOf(from, to, zone, at(from)));

/**
 * A length such as "2 h 04 min", "9 days", "40 s". It has at most two parts. It is rounded, so that it agrees with the times
 * beside it.
 */
export function length(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < MINUTE - 500) return times.seconds(Math.round(passed / 1_000));
  const minutes = Math.round(passed / MINUTE);
  if (minutes < 60) return times.minutes(minutes);
  if (minutes < 2 * 24 * 60) return times.hours(Math.floor(minutes / 60), minutes % 60);
  return times.days(Math.round(passed / DAY));
}

/** The distance of two moments. From two days on it counts calendar days: from Saturday to Tuesday it is 3 days. */
export function apart(from: Moment, to: Moment, zone: string): string {
  const [first, last] = [Math.min(at(from), at(to)), Math.max(at(from), at(to))];
  const days = dayNumber(last, zone) - dayNumber(first, zone);
  return last - first >= 2 * DAY ? times.days(days) : length(last - first);
}

/** "11 min ago", "in 15 s"; "just now" within ten seconds, "never" for no moment. */
export function ago(moment: string | null, now: number): string {
  if (moment === null) return times.never;
  const passed = now - Date.parse(moment);
  if (Math.abs(passed) < 10_000) return times.now;
  return passed > 0 ? times.ago(length(passed)) : times.ahead(length(-passed));
}

interface Dated {
  status: string;
  starts_at: string;
  ends_at: string;
  time_zone: string;
}

/** The sentence about the doors under the title: "Doors open for 2 h 04 min · ends 23:30". */
export function doors(event: Dated, now: number): string {
  const [start, end] = [Date.parse(event.starts_at), Date.parse(event.ends_at)];
  const ends = when(event.ends_at, event.time_zone, now);
  if (event.status === "draft") return now < start ? times.opensIn(apart(now, start, event.time_zone)) : span(event.starts_at, event.ends_at, event.time_zone, now);
  if (event.status !== "live") return now < end ? times.endedEarly(ends) : times.endedAt(ends);
  if (now < start) return times.openBefore(when(event.starts_at, event.time_zone, now));
  return now > end ? times.openAfter(ends) : times.openSince(apart(start, now, event.time_zone), ends);
}

const zoneName = (zone: string): string => (zone.split("/").pop() ?? zone).replaceAll("_", " ");
/** "Kathmandu time" if the reader's own time zone shows another time. Empty if it shows the same. */
export function foreignZone(zone: string, now: number = Date.now()): string {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return clock(now, zone) === clock(now, here) ? "" : times.inZone(zoneName(zone));
}
