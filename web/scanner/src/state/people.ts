import type { BookingTicket, HistoryRow, VerdictView } from "../../../shared/core/engine.ts";

/** Who a scan was about, as its verdict said. */
export interface Person {
  /** Empty where this device holds no names. */
  name: string;
  /** The ticket's type; empty where it has none. */
  type: string;
  /** What the guest can read of the code on their ticket, as `codeLabel` gives it; empty where no code was read. */
  code: string;
}

/** The people of the last verdicts, by the scan and by the ticket: the engine's history rows name neither guest nor type. */
export type People = ReadonlyMap<string, Person>;

/** No more than the history has rows, each under two keys. */
const MOST = 200;

/** Last characters of a code that are shown. A word joiner keeps them on one line with the ellipsis. */
const CODE_END = 4;
/** A code as Admit draws it (a UUID of version 4 in small letters). Its pass has the short code printed below it. */
const DRAWN = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * What a guest can find on their ticket: the last characters of its code. Of a code that Admit may have drawn the short
 * code too, because a pass prints that alone; a ticket from elsewhere may have a code of the same form.
 */
export function codeLabel(code: string, shortCode: string): string {
  const text = code.trim();
  const characters = [...text];
  const end = characters.length <= CODE_END ? text : `…\u2060${characters.slice(-CODE_END).join("")}`;
  return DRAWN.test(text) && shortCode !== "" ? `${shortCode} (${end})` : end;
}

/** With one more verdict, and the `code` that led to it; the oldest go. */
export function withPerson(people: People, verdict: VerdictView, code = ""): People {
  const became = verdict.booking?.became;
  const tickets = became ?? [verdict];
  const label = became === undefined ? codeLabel(code, verdict.short_code) : "";
  const next = new Map(people);
  for (const ticket of tickets) {
    const keys = [ticket.scan_id, ticket.ticket_id].filter((key) => key !== null && key !== undefined);
    // A question's answer is a verdict of the same scan, to which no code leads.
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

/** As much of the people as a later start may know: by the scan, and no name. */
export type Kept = [scanId: string, type: string, code: string][];

const KEY = "admit-history-labels";

/**
 * Types and ends of codes of the last scans, for the history of a later start: the journal has neither. Names are not
 * among them, because they are kept sealed alone. `storage` is a function: where site data is blocked, even naming it throws.
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
    // Full or forbidden: the history of the next start says less.
  }
}

/** What an earlier start kept; entries of another shape are left out. */
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

/** They belong to an event that is no longer this device's. */
export function forgetPeople(storage: () => Pick<Storage, "removeItem"> = () => localStorage): void {
  try {
    storage().removeItem(KEY);
  } catch {
    // Nothing was kept there.
  }
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

/** The history rows of a booking let in at once that can still be taken back, in the booking's order. */
export function bookingTargets(verdict: VerdictView | undefined, history: readonly HistoryRow[]): HistoryRow[] {
  const rows = verdict?.booking?.became?.map((ticket) => history.find((row) => row.scan_id === ticket.scan_id)) ?? [];
  return rows.filter((row) => row !== undefined && canUndo(row)) as HistoryRow[];
}

/**
 * The history row of the verdict in the strip, while it can be taken back. A repeat is about the scan that it repeats. A
 * booking let in at once has none of its own: `bookingTargets` has a row of each guest.
 */
export function undoTargetOf(verdict: VerdictView | undefined, history: readonly HistoryRow[]): HistoryRow | null {
  if (verdict === undefined || verdict.booking?.became !== undefined) return null;
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
