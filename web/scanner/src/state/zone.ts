import type { Timestamp, ZoneClock } from "../../../shared/core/engine.ts";

/** Gives the offsets of the event's time zone from the scanner's view. They are absent before the first list. */
let known: () => ZoneClock | undefined = () => undefined;

/** Sets the source of the event's time zone. All times on screens use it from then on. */
export function goBy(clock: () => ZoneClock | undefined): void {
  known = clock;
}

/**
 * A moment in the event's time zone: a date whose UTC fields are the local time. So a browser without data of that zone, and a phone
 * in another zone, show the same time. Without an event the phone's own time zone is used.
 */
export function local(at: Timestamp | number, clock: ZoneClock | undefined = known()): Date {
  const moment = new Date(at);
  const ahead = clock === undefined ? -60 * moment.getTimezoneOffset() : offset(moment.getTime(), clock);
  return new Date(moment.getTime() + 1000 * ahead);
}

/** How far the zone is ahead of UTC at a moment, seconds. Before the first known offset, that offset is used. */
function offset(at: number, { offsets }: ZoneClock): number {
  const begun = offsets.filter(({ from }) => Date.parse(from) <= at);
  return (begun.at(-1) ?? offsets[0])?.offset_s ?? 0;
}
