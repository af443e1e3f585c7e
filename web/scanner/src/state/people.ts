import type { BookingTicket, HistoryRow, VerdictView } from "../../../shared/core/engine.ts";

/** The guest of a scan, as its verdict said. */
export interface Person {
  /** Empty if this device has no names. */
  name: string;
  /** The ticket's type. Empty if it has none. */
  type: string;
  /** The part of the code that the guest can read on their ticket, from `codeLabel`. Empty if no code was read. */
  code: string;
}

/** The guests of the last verdicts, by scan id and by ticket id. The engine's history rows name neither guest nor type. */
export type People = ReadonlyMap<string, Person>;

/** The most entries: two for each row of the history. */
const MOST = 200;

/** The number of last characters of a code that are shown. A word joiner keeps them on one line with the ellipsis. */
const CODE_END = 4;
/** The form of the codes that Admit makes: a UUID of version 4 in small letters. A pass shows the short code below it. */
const DRAWN = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * The text by which a guest finds the code on their ticket: its last characters. For a code in the form of Admit's, the short code
 * stands before them, because a pass shows only the short code. A ticket of another system may have that form too.
 */
export function codeLabel(code: string, shortCode: string): string {
  const text = code.trim();
  const characters = [...text];
  const end = characters.length <= CODE_END ? text : `…\u2060${characters.slice(-CODE_END).join("")}`;
  return DRAWN.test(text) && shortCode !== "" ? `${shortCode} (${end})` : end;
}

/** Adds the guests of a verdict, and removes the oldest entries beyond the limit. `code`: the code that led to the verdict. */
export function withPerson(people: People, verdict: VerdictView, code = ""): People {
  const became = verdict.booking?.became;
  const tickets = became ?? [verdict];
  const label = became === undefined ? codeLabel(code, verdict.short_code) : "";
  const next = new Map(people);
  for (const ticket of tickets) {
    const keys = [ticket.scan_id, ticket.ticket_id].filter((key) => key !== null && key !== undefined);
    // The answer to a question leads to a verdict about the same scan without a code. So the known code stays.
    const known = keys.map((key) => next.get(key)?.code ?? "").find((one) => one !== "") ?? "";
    const person = { name: ticket.name ?? "", type: ticket.zone ?? "", code: label || known };
    if (person.name === "" && person.type === "" && person.code === "") continue;
    for (const key of keys) {
      next.delete(key);
      next.set(key, person);
    }
  }
  while (next.size > MOST) next.delete(next.keys().next().value as string);
  return next;
}

/** The entries that are stored for a later start: by scan id, without names. */
export type Kept = [scanId: string, type: string, code: string][];

const KEY = "admit-history-labels";

/**
 * Stores types and ends of codes of the last scans for the history of a later start, since the journal has neither. Names are left
 * out, because the device stores them only encrypted. `storage` is a function, because reading it may throw.
 */
export function keepPeople(people: People, history: readonly Pick<HistoryRow, "scan_id">[], storage: () => Pick<Storage, "setItem"> = () => localStorage): void {
  const kept: Kept = [];
  for (const { scan_id } of history) {
    const person = people.get(scan_id);
    if (person !== undefined && (person.type !== "" || person.code !== "")) kept.push([scan_id, person.type, person.code]);
  }
  try {
    storage().setItem(KEY, JSON.stringify(kept));
  } catch {
    // The storage is full or forbidden. The history after the next start then lacks types and codes.
  }
}

/** Reads what an earlier start stored. Entries of another form are left out. */
export function keptPeople(storage: () => Pick<Storage, "getItem"> = () => localStorage): People {
  try {
    const kept: unknown = JSON.parse(storage().getItem(KEY) ?? "[]");
    const people = new Map<string, Person>();
    for (const entry of Array.isArray(kept) ? kept.slice(0, MOST) : []) {
      const [scanId, type, code] = Array.isArray(entry) ? entry : [];
      if ([scanId, type, code].every((text) => typeof text === "string")) people.set(scanId, { name: "", type, code });
    }
    return people;
  } catch {
    return new Map();
  }
}

/** Deletes the stored entries, because this device has another event now. */
export function forgetPeople(storage: () => Pick<Storage, "removeItem"> = () => localStorage): void {
  try {
    storage().removeItem(KEY);
  } catch {
    // The browser blocks storage, so nothing was stored.
  }
}

/** A verdict without its guests' data, for a gate whose devices may no longer have names. */
export function withoutNames(verdict: VerdictView): VerdictView {
  const { note: _, flag: __, fields: ___, booking, ...rest } = verdict;
  const bare = { ...rest, name: null };
  if (booking === undefined) return bare;
  const nobody = (ticket: BookingTicket): BookingTicket => ({ ...ticket, name: null });
  const became = booking.became?.map(nobody);
  return { ...bare, booking: { ...booking, others: booking.others.map(nobody), ...(became === undefined ? {} : { became }) } };
}

/** The entries without names, for a gate whose devices may no longer have names. */
export function nameless(people: People): People {
  return new Map([...people].map(([key, person]) => [key, { ...person, name: "" }]));
}

export function personOf(people: People, row: Pick<HistoryRow, "scan_id" | "ticket_id">): Person | null {
  return people.get(row.scan_id) ?? (row.ticket_id === null ? null : (people.get(row.ticket_id) ?? null));
}

/** Whether a scan can be undone. */
export function canUndo(row: HistoryRow): boolean {
  return row.opened && row.kind !== "revert" && row.reverted < row.count;
}

/** The history rows of a booking that was admitted at once, as far as they can still be undone, in the booking's order. */
export function bookingTargets(verdict: VerdictView | undefined, history: readonly HistoryRow[]): HistoryRow[] {
  const rows = verdict?.booking?.became?.map((ticket) => history.find((row) => row.scan_id === ticket.scan_id)) ?? [];
  return rows.filter((row) => row !== undefined && canUndo(row)) as HistoryRow[];
}

/**
 * The history row of the verdict in the strip, if it can be undone. A repeated code stands for the scan that it repeats. A booking
 * that was admitted at once has no row here: `bookingTargets` gives a row for each guest.
 */
export function undoTargetOf(verdict: VerdictView | undefined, history: readonly HistoryRow[]): HistoryRow | null {
  if (verdict === undefined || verdict.booking?.became !== undefined) return null;
  const same = (row: HistoryRow) =>
    verdict.screen === "same_ticket" ? verdict.ticket_id !== null && row.ticket_id === verdict.ticket_id : row.scan_id === verdict.scan_id;
  const row = history.find(same);
  return row !== undefined && canUndo(row) ? row : null;
}

/** Whether the server has the scan of a verdict. For an admitted booking: whether it has all scans. */
export function isSent(verdict: VerdictView, history: readonly HistoryRow[]): boolean {
  const scans = verdict.booking?.became?.map((ticket) => ticket.scan_id) ?? [verdict.scan_id];
  return scans.every((id) => history.some((row) => row.scan_id === id && row.sync === "sent"));
}
