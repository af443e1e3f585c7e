/**
 * The server counts entries, not persons. They are the same only if the event has no re-entry. With re-entry somebody who came
 * twice counts twice, so the app then shows neither how many persons came nor how many are still to come.
 */
import type { DeviceView, EventView, GuestView, Occupancy, TicketView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { standing } from "./devices.ts";

type Rules = Pick<EventView, "re_entry">;

/** Persons still to come. `null`: re-entry makes it unknown. */
export const toCome = (event: Rules, occupancy: Pick<Occupancy, "entered" | "expected">): number | null =>
  event.re_entry === "never" ? Math.max(0, occupancy.expected - occupancy.entered) : null;

/** The classes of people without a ticket whose count is not 0. */
export function withoutTicket(counted: Occupancy["without_ticket"]): { name: string; persons: number }[] {
  const classes = (["staff", "crew", "child", "other"] as const).map((name) => ({ name: words.live.classes[name], persons: counted[name] }));
  return classes.filter(({ persons }) => persons !== 0);
}

/** The number of persons inside: at least `low`, at most `high`. The other fields say what the difference consists of. */
export interface Inside {
  low: number;
  high: number;
  over: number;
  missing: number;
  /** The number of unsent scans that silent phones reported. */
  unsent: number;
  phones: number;
}

/** Computes the range from the server's counts and from scans that it has not received. */
export function insideRange(occupancy: Pick<Occupancy, "inside" | "inside_over">, devices: readonly DeviceView[], now: number): Inside {
  const silent = devices.filter((device) => device.pending > 0 && standing(device, now) === "offline");
  const unsent = silent.reduce((sum, device) => sum + device.pending, 0);
  const missing = devices.reduce((sum, device) => sum + device.missing_count, 0);
  const high = occupancy.inside + occupancy.inside_over + missing + unsent;
  return { low: occupancy.inside, high, over: occupancy.inside_over, missing, unsent, phones: silent.length };
}

/** A text that explains the upper number of a range. Empty if there is no range. */
export function rangeWords(inside: Inside): string {
  const { live } = words;
  const parts = [
    ...(inside.unsent > 0 ? [live.rangeSilent(inside.unsent, inside.phones)] : []),
    ...(inside.missing > 0 ? [live.rangeMissing(inside.missing)] : []),
    ...(inside.over > 0 ? [live.rangeOver(inside.over)] : []),
  ];
  return parts.length === 0 ? "" : live.rangeIs(parts);
}

/** The text about a ticket's entries in its row. */
export function passages(event: Rules, ticket: Pick<TicketView, "entered" | "over" | "inside" | "entry_limit">): string {
  const { tickets } = words;
  const count = ticket.entered + ticket.over;
  if (count === 0) return words.frame.none;
  if (event.re_entry === "never") return tickets.inOf(count, ticket.entry_limit);
  // In the mode `after_gap` nobody scans people who leave. So nobody knows who is inside.
  if (event.re_entry === "after_gap") return tickets.entriesFor(count, ticket.entry_limit, ticket.over);
  return tickets.insideOf(ticket.inside, ticket.entry_limit, count, ticket.over);
}

/** The number of a guest's party who are in, for the column of figures. A single guest who is still to come has a dash. */
export function inWordsOf(event: Rules, guest: Pick<GuestView, "actual_count" | "inside" | "party_size">): string {
  const { actual_count: came, party_size: party } = guest;
  if (came === 0 && party === 1) return words.frame.none;
  if (event.re_entry !== "never") return words.guests.inOf(guest.inside, party);
  return came > party ? words.guests.inOver(party, came - party) : words.guests.inOf(came, party);
}
