import type { BookingTicket, HistoryRow, VerdictView } from "../../../shared/core/engine.ts";

/** Who a scan was about, as its verdict said. */
export interface Person {
  /** Empty where this device holds no names. */
  name: string;
  /** The ticket's type; empty where it has none. */
  type: string;
  /** Why a ticket was shown outside its time, by the core's reason: the history's row has the screen alone. */
  reason?: string;
}

/** The people of the last verdicts, by the scan and by the ticket: the engine's history rows name neither guest nor type. */
export type People = ReadonlyMap<string, Person>;

/** No more than the history has rows, each under two keys. */
const MOST = 200;

/** With one more verdict; the oldest go. */
export function withPerson(people: People, verdict: VerdictView): People {
  const tickets = verdict.booking?.became ?? [verdict];
  const next = new Map(people);
  for (const ticket of tickets) {
    const person = { name: ticket.name ?? "", type: ticket.zone ?? "" };
    if (person.name !== "" || person.type !== "") put(next, ticket.ticket_id, person);
    // The reason is the scan's: the same ticket is good an hour later.
    const reason = verdict.screen === "wrong_time" && ticket === verdict ? verdict.reason : null;
    const scanned: Person = reason === null ? person : { ...person, reason };
    if (reason !== null || person.name !== "" || person.type !== "") put(next, ticket.scan_id, scanned);
  }
  while (next.size > MOST) next.delete(next.keys().next().value as string);
  return next;
}

/** A verdict without anything of its guests: this gate's devices carry no names any more. */
export function withoutNames(verdict: VerdictView): VerdictView {
  const { note: _, flag: __, fields: ___, booking, ...rest } = verdict;
  const bare = { ...rest, name: null };
  if (booking === undefined) return bare;
  const nobody = (ticket: BookingTicket): BookingTicket => ({ ...ticket, name: null });
  const became = booking.became?.map(nobody);
  return { ...bare, booking: { ...booking, others: booking.others.map(nobody), ...(became === undefined ? {} : { became }) } };
}

/** Puts a person last in the order of age. */
function put(people: Map<string, Person>, key: string | null | undefined, person: Person): void {
  if (key === null || key === undefined) return;
  people.delete(key);
  people.set(key, person);
}

/** Without names: this gate's devices carry none any more. */
export function nameless(people: People): People {
  return new Map([...people].map(([key, person]) => [key, { ...person, name: "" }]));
}

export function personOf(people: People, row: Pick<HistoryRow, "scan_id" | "ticket_id">): Person | null {
  return people.get(row.scan_id) ?? (row.ticket_id === null ? null : (people.get(row.ticket_id) ?? null));
}

/** Whether a scan can be taken back. */
export function canUndo(row: HistoryRow): boolean {
  return row.opened && row.kind !== "revert" && row.reverted < row.count;
}

/**
 * The history row of the verdict in the strip, while it can be taken back. A repeat is about the scan that it repeats.
 */
export function undoTargetOf(verdict: VerdictView | undefined, history: readonly HistoryRow[]): HistoryRow | null {
  if (verdict === undefined) return null;
  const same = (row: HistoryRow) =>
    verdict.screen === "same_ticket" ? verdict.ticket_id !== null && row.ticket_id === verdict.ticket_id : row.scan_id === verdict.scan_id;
  const row = history.find(same);
  return row !== undefined && canUndo(row) ? row : null;
}

/** Whether the server has the scan of a verdict by now; of a booking all of its scans. */
export function isSent(verdict: VerdictView, history: readonly HistoryRow[]): boolean {
  const scans = verdict.booking?.became?.map((ticket) => ticket.scan_id) ?? [verdict.scan_id];
  return scans.every((id) => history.some((row) => row.scan_id === id && row.sync === "sent"));
}
