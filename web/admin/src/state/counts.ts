/**
 * Entries are counted, persons are not: only where nobody may come in again is each entry a person of its own. Elsewhere
 * somebody who came twice counts twice, so nothing is said about who came and who is still to come.
 */
import type { EventView, Occupancy, TicketView } from "../../../shared/api/types";
import { number } from "./format.ts";

type Rules = Pick<EventView, "re_entry">;

/** How an event's entries are shown; `toCome` is `null` where nobody can tell. */
export function admitted(event: Rules, occupancy: Pick<Occupancy, "entered" | "expected">): { title: string; beside: string; toCome: number | null } {
  const expected = `${number(occupancy.expected)} expected`;
  if (event.re_entry !== "never") return { title: "Entries", beside: `${expected}; whoever comes again counts again`, toCome: null };
  return { title: "Admitted", beside: `of ${expected}`, toCome: Math.max(0, occupancy.expected - occupancy.entered) };
}

/** So many entries, which need not be so many persons. */
export const entries = (count: number): string => (count === 1 ? "1 entry" : `${number(count)} entries`);

/** A ticket's entries where they need not be persons; `null` where they are, or where there is none. */
export function passages(event: Rules, ticket: Pick<TicketView, "entered" | "over" | "inside" | "entry_limit">): string | null {
  const count = ticket.entered + ticket.over;
  if (event.re_entry === "never" || count === 0) return null;
  const limit = number(ticket.entry_limit);
  const beyond = ticket.over > 0 ? `, ${number(ticket.over)} of them beyond the ticket` : "";
  // After a gap people come back whose leaving nobody scanned: who is inside is not known.
  if (event.re_entry === "after_gap") return `${entries(count)}, for ${limit}${beyond}`;
  return `${number(ticket.inside)} of ${limit} inside, ${entries(count)}${beyond}`;
}
