/** Events in the order in which somebody looks for one. */
import type { EventView, ListedEvent } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

export type Group = "live" | "coming" | "past";

/** Whether the doors are open beyond the event's end. */
export const overdue = (event: { status: string; ends_at: string }, now: number): boolean => event.status === "live" && Date.parse(event.ends_at) < now;

/** Whether an event's time went by without its doors ever being opened. */
const missed = (event: { status: string; ends_at: string }, now: number): boolean => event.status === "draft" && Date.parse(event.ends_at) < now;

/** How an event stands, in the words of its pill. Doors that are open past the event's end are said to be that, wherever it is named. */
export function stateOf(event: Pick<EventView, "status" | "ends_at">, now: number): { words: string; tone: "ok" | "warn" | "still" } {
  const { frame } = words;
  if (overdue(event, now)) return { words: frame.overdue, tone: "warn" };
  if (missed(event, now)) return { words: frame.missed, tone: "still" };
  return { words: frame.statuses[event.status], tone: event.status === "live" ? "ok" : "still" };
}

/** Open doors first; drafts that are still to come; what is over, and drafts whose time went by. */
export const groupOf = (event: Pick<ListedEvent, "status" | "ends_at">, now: number): Group =>
  event.status === "live" ? "live" : event.status === "draft" && !missed(event, now) ? "coming" : "past";

const RANK: Record<Group, number> = { live: 0, coming: 1, past: 2 };

/** The next first; of what is over the latest first. Whose end has passed is behind the others with open doors. */
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

/** Whether each word that was typed stands in the event's name or place. */
export function matches(event: Pick<ListedEvent, "name" | "venue">, text: string): boolean {
  const hay = folded(`${event.name} ${event.venue}`);
  return folded(text).split(/\s+/).every((word) => hay.includes(word));
}

/** The first times of a new event, as a form holds them: the coming Saturday from eight in the evening, for six hours. */
export function firstTimes(today: string): { starts: string; ends: string } {
  const day = new Date(`${today}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + ((6 - day.getUTCDay() + 7) % 7 || 7));
  const saturday = day.toISOString().slice(0, 10);
  day.setUTCDate(day.getUTCDate() + 1);
  return { starts: `${saturday}T20:00`, ends: `${day.toISOString().slice(0, 10)}T02:00` };
}

const WALL = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** The end that follows a start that was moved: the event stays as long as it was. Both are a form's own times. */
export function movedEnd(before: string, after: string, ends: string): string {
  if (![before, after, ends].every((value) => WALL.test(value))) return ends;
  const read = (value: string): number => Date.parse(`${value}:00Z`);
  return new Date(read(ends) + read(after) - read(before)).toISOString().slice(0, 16);
}
