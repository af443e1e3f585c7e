import type { Timestamp, ZoneClock } from "../../../shared/core/engine.ts";

/** The event's clock as the scanner's view has it; absent before the first list. */
let known: () => ZoneClock | undefined = () => undefined;

/** Says where the event's clock is read from. Every time on a screen goes by it from then on. */
export function goBy(clock: () => ZoneClock | undefined): void {
  known = clock;
}

/**
 * A moment as the clocks of the event's zone show it: a date whose UTC fields are the local ones, so that a browser without the
 * zone's data, and a phone in another zone, show the same. Without an event the phone's own clocks are all there is.
 */
export function local(at: Timestamp | number, clock: ZoneClock | undefined = known()): Date {
  const moment = new Date(at);
  const ahead = clock === undefined ? -60 * moment.getTimezoneOffset() : offset(moment.getTime(), clock);
  return new Date(moment.getTime() + 1000 * ahead);
}

/** How far the zone is ahead of UTC at a moment, seconds; before the first offset told, that one holds. */
function offset(at: number, { offsets }: ZoneClock): number {
  const begun = offsets.filter(({ from }) => Date.parse(from) <= at);
  return (begun.at(-1) ?? offsets[0])?.offset_s ?? 0;
}
