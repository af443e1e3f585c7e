/** The list of events, and a new one. */
import { counting, entriesOf, personsOf } from "./numbers.ts";

const { number } = counting;

export const events = {
  title: "Events",
  create: "New event",
  groups: { live: "Doors open", coming: "Coming", past: "Past" },
  columns: { event: "Event", when: "When", expected: "Expected", admitted: "Admitted", review: "To review", state: "State" },
  admitted: (admitted: number, expected: number, over: number) =>
    `${number(admitted)} admitted${over > 0 ? `, ${number(over)} over the limit` : ""} · ${number(expected)} expected`,
  entries: (entries: number, expected: number) => `${entriesOf(entries)} · ${number(expected)} expected`,
  expects: (expected: number) => (expected === 0 ? "No guests yet" : `${personsOf(expected)} expected`),
  noneTitle: "No events yet",
  none: "Make an event, then add its guests and pair the phones that scan at its doors.",
  noneForRole: "Nothing has been shared with you yet. Ask an owner or a manager of your organisation.",
  new: {
    title: "New event",
    name: "Name",
    venue: "Place",
    venueHint: "Shown on the pass",
    starts: "Starts",
    ends: "Ends",
    zone: "Time zone",
    zoneHint: "All times of the event are in this zone",
    capacity: "Capacity",
    capacityHint: "How many persons may be inside at once. Empty: no limit",
    create: "Create event",
    lasts: (span: string) => span,
    labels: { name: "The name", venue: "The place", time_zone: "The time zone", starts_at: "The start", ends_at: "The end", capacity: "The capacity" },
    endFirst: "The end must be later than the start.",
  },
};
