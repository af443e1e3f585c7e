/** The states and the order of events in lists. */
import type { EventView, ListedEvent } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

export type Group = "live" | "coming" | "past";

/** Whether the event is live although its end has passed. */
export const overdue = (event: { status: string; ends_at: string }, now: number): boolean => event.status === "live" && Date.parse(event.ends_at) < now;

/** Whether an event's end has passed and its doors were never opened. */
const missed = (event: { status: string; ends_at: string }, now: number): boolean => event.status === "draft" && Date.parse(event.ends_at) < now;

/** The text and colour of an event's label. It says so if the doors are open although the event's end has passed. */
export function stateOf(event: Pick<EventView, "status" | "ends_at">, now: number): { words: string; tone: "ok" | "warn" | "still" } {
  const { frame } = words;
  if (overdue(event, now)) return { words: frame.overdue, tone: "warn" };
  if (missed(event, now)) return { words: frame.missed, tone: "still" };
  return { words: frame.statuses[event.status], tone: event.status === "live" ? "ok" : "still" };
}

/** The group of an event in the list: open doors, drafts that are still to come, or past events with drafts that were never opened. */
export const groupOf = (event: Pick<ListedEvent, "status" | "ends_at">, now: number): Group =>
  event.status === "live" ? "live" : event.status === "draft" && !missed(event, now) ? "coming" : "past";

const RANK: Record<Group, number> = { live: 0, coming: 1, past: 2 };

/** Sorts events: the next first, and of past events the latest first. Open events past their end come after other open ones. */
export const ordered = <Event extends Pick<ListedEvent, "status" | "starts_at" | "ends_at">>(events: readonly Event[], now: number): Event[] =>
  [...events].sort((a, b) => {
    const [one, other] = [groupOf(a, now), groupOf(b, now)];
    if (one !== other) return RANK[one] - RANK[other];
    const passed = Number(overdue(a, now)) - Number(overdue(b, now));
    if (passed !== 0) return passed;
    const later = Date.parse(a.starts_at) - Date.parse(b.starts_at);
    return one === "past" ? -later : later;
  });

const folded = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();

/** Whether the event's name or place contains each typed word. */
export function matches(event: Pick<ListedEvent, "name" | "venue">, text: string): boolean {
  const hay = folded(`${event.name} ${event.venue}`);
  return folded(text).split(/\s+/).every((word) => hay.includes(word));
}

/** The suggested times of a new event, in the form of the fields: the coming Saturday from 20:00, for six hours. */
export function firstTimes(today: string): { starts: string; ends: string } {
  const day = new Date(`${today}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + ((6 - day.getUTCDay() + 7) % 7 || 7));
  const saturday = day.toISOString().slice(0, 10);
  day.setUTCDate(day.getUTCDate() + 1);
  return { starts: `${saturday}T20:00`, ends: `${day.toISOString().slice(0, 10)}T02:00` };
}

const WALL = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** The new end after a person moved the start, so that the event stays as long as before. All times are in the form of the fields. */
export function movedEnd(before: string, after: string, ends: string): string {
  if (![before, after, ends].every((value) => WALL.test(value))) return ends;
  const read = (value: string): number => Date.parse(`${value}:00Z`);
  return new Date(read(ends) + read(after) - read(before)).toISOString().slice(0, 16);
}
