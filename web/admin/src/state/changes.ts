/** Forms send only the fields that were changed in them. So a save keeps what somebody else changed in other fields. */
import type { EventView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { fromZoneInput, toZoneInput } from "./zone.ts";

/** The fields of a form that differ from its first values. */
export function changes<Form extends object>(before: Form, after: Form): Partial<Form> {
  const names = (Object.keys(after) as (keyof Form)[]).filter((name) => after[name] !== before[name]);
  return Object.fromEntries(names.map((name) => [name, after[name]])) as Partial<Form>;
}

/** A form after its save: the saved values, and over them the fields that a person changed while the save was under way. */
export const afterSave = <Form extends object>(sent: Form, typed: Form, held: Form): Form => ({ ...held, ...changes(sent, typed) });

/** The message after a save. It says so if the person has changed more since the form was sent. */
export const savedWords = <Form extends object>(sent: Form, typed: Form): string =>
  Object.keys(changes(sent, typed)).length === 0 ? words.frame.saved : words.frame.savedInPart;

/** The values of an event's form. Its times are in the event's time zone. */
export const eventForm = (event: EventView) => ({
  name: event.name,
  venue: event.venue,
  time_zone: event.time_zone,
  starts_at: toZoneInput(event.starts_at, event.time_zone),
  ends_at: toZoneInput(event.ends_at, event.time_zone),
  re_entry: event.re_entry,
  min_gap_seconds: event.min_gap_seconds,
  day_starts_at: event.day_starts_at,
  capacity: event.capacity,
  walk_ins: event.walk_ins,
  retention_days: event.retention_days,
});
type EventForm = ReturnType<typeof eventForm>;

/** The fields that a save of an event sends. A new time zone makes the same times other moments, so both times are sent with it. */
export function changedEvent(before: EventForm, after: EventForm): Partial<EventForm> {
  const changed = changes(before, after);
  for (const field of ["starts_at", "ends_at"] as const) {
    if (field in changed || "time_zone" in changed) changed[field] = fromZoneInput(after[field], after.time_zone);
  }
  return changed;
}
