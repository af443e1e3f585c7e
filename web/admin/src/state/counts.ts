/**
 * Entries are counted, persons are not: only where nobody may come in again is each entry a person of its own. Elsewhere
 * somebody who came twice counts twice, so nothing is said about who came and who is still to come.
 */
import type { DeviceView, EventView, GuestView, Occupancy, TicketView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { standing } from "./devices.ts";

type Rules = Pick<EventView, "re_entry">;

/** Persons still to come; `null` where nobody can tell. */
export const toCome = (event: Rules, occupancy: Pick<Occupancy, "entered" | "expected">): number | null =>
  event.re_entry === "never" ? Math.max(0, occupancy.expected - occupancy.entered) : null;

/** The classes of people without a ticket of whom any were counted. */
export function withoutTicket(counted: Occupancy["without_ticket"]): { name: string; persons: number }[] {
  const classes = (["staff", "crew", "child", "other"] as const).map((name) => ({ name: words.live.classes[name], persons: counted[name] }));
  return classes.filter(({ persons }) => persons !== 0);
}

/** How many are inside: at least `low`; `high` with what may be on top of it, and what that is made of. */
export interface Inside {
  low: number;
  high: number;
  over: number;
  missing: number;
  /** Scans that silent phones said they hold, and those phones. */
  unsent: number;
  phones: number;
}

/** What is known, and what phones may hold that the server does not. */
export function insideRange(occupancy: Pick<Occupancy, "inside" | "inside_over">, devices: readonly DeviceView[], now: number): Inside {
  const silent = devices.filter((device) => device.pending > 0 && standing(device, now) === "offline");
  const unsent = silent.reduce((sum, device) => sum + device.pending, 0);
  const missing = devices.reduce((sum, device) => sum + device.missing_count, 0);
  const high = occupancy.inside + occupancy.inside_over + missing + unsent;
  return { low: occupancy.inside, high, over: occupancy.inside_over, missing, unsent, phones: silent.length };
}

/** What the upper number of a range is, in words; empty where there is no range. */
export function rangeWords(inside: Inside): string {
  const { live } = words;
  const parts = [
    ...(inside.unsent > 0 ? [live.rangeSilent(inside.unsent, inside.phones)] : []),
    ...(inside.missing > 0 ? [live.rangeMissing(inside.missing)] : []),
    ...(inside.over > 0 ? [live.rangeOver(inside.over)] : []),
  ];
  return parts.length === 0 ? "" : live.rangeIs(parts);
}

/** A ticket's entries in the words of its row. */
export function passages(event: Rules, ticket: Pick<TicketView, "entered" | "over" | "inside" | "entry_limit">): string {
  const { tickets } = words;
  const count = ticket.entered + ticket.over;
  if (count === 0) return words.frame.none;
  if (event.re_entry === "never") return tickets.inOf(count, ticket.entry_limit);
  // After a pause people come back whose leaving nobody scanned: who is inside is not known.
  if (event.re_entry === "after_gap") return tickets.entriesFor(count, ticket.entry_limit, ticket.over);
  return tickets.insideOf(ticket.inside, ticket.entry_limit, count, ticket.over);
}

/** How many of a guest's party are in, for the column of figures; a dash where one guest is still to come, for whom 1 goes without saying. */
export function inWordsOf(event: Rules, guest: Pick<GuestView, "actual_count" | "inside" | "party_size">): string {
  const { actual_count: came, party_size: party } = guest;
  if (came === 0 && party === 1) return words.frame.none;
  if (event.re_entry !== "never") return words.guests.inOf(guest.inside, party);
  return came > party ? words.guests.inOver(party, came - party) : words.guests.inOf(came, party);
}
