/** Converts moments to local times of an event's zone, as `<input type="datetime-local">` has them, and back. */

function parts(at: number, zone: string): number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const read = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = read;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** How far the zone is ahead of UTC at a moment, in milliseconds. */
function ahead(at: number, zone: string): number {
  const whole = Math.floor(at / 1_000) * 1_000;
  return parts(whole, zone) - whole;
}

/** The local time of a moment in the zone: `2026-11-22T20:00`. */
export function toZoneInput(at: string, zone: string): string {
  const moment = Date.parse(at);
  return new Date(moment + ahead(moment, zone)).toISOString().slice(0, 16);
}

/** The moment of a local time in the zone. A time in the hour that is skipped in spring becomes one an hour later. */
export function fromZoneInput(value: string, zone: string): string {
  const wall = Date.parse(`${value.length === 16 ? `${value}:00` : value}Z`);
  const before = wall - ahead(wall - 86_400_000, zone);
  const moment = before + ahead(before, zone) === wall ? before : wall - ahead(before, zone);
  if (moment + ahead(moment, zone) === wall) return new Date(moment).toISOString();
  return new Date(before).toISOString();
}

export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** All time zones that the browser knows, and `more`, sorted. */
export function zones(...more: string[]): string[] {
  return [...new Set([...Intl.supportedValuesOf("timeZone"), "UTC", ...more])].sort();
}

/** Reads a time of day that a person typed ("8", "20", "930", "20.30") as "20:30". Empty if it is none. */
export function readClock(typed: string): string {
  const [, hours, minutes] = /^(\d{1,2}?)(?:[:.]?(\d{2}))?$/.exec(typed.trim()) ?? [];
  if (hours === undefined || Number(hours) > 23 || Number(minutes ?? 0) > 59) return "";
  return `${hours.padStart(2, "0")}:${minutes ?? "00"}`;
}
