/** What a person must know of a scan to decide about it. Pure: the cards only show it. */
import type { IncidentScan, IncidentView, ScanView, TicketView } from "../../../shared/api/types.ts";

export type Fact = ScanView | undefined;
export type Decision = "accept" | "exclude" | "note";

export const scanKey = (scan: { device_id: string; scan_id: string }): string => `${scan.device_id} ${scan.scan_id}`;

/** What happened: an entry, an exit, an undo, or a door that stayed shut. */
export function what(scan: IncidentScan, fact: Fact): string {
  if (fact?.kind === "revert") return "Undo of a scan";
  if (fact && !fact.opened) return fact.kind === "exit" ? "Exit refused" : "Refused";
  if (fact?.kind === "exit") return "Left";
  if (scan.role === "double_entry") return "Entered on top";
  if (scan.role === "entry" || fact) return "Entered";
  return "Scanned";
}

const outcomes: Record<string, string> = {
  valid: "Admit", duplicate: "Already in", invalid: "Do not admit", expired: "Wrong time", gate_access_denied: "Wrong gate",
};
export function door(fact: Fact): string {
  if (!fact) return "not known";
  const said = outcomes[fact.device_outcome] ?? fact.device_outcome.replaceAll("_", " ");
  if (fact.kind === "revert") return "not concerned";
  return `${fact.opened ? "opened" : "stayed shut"}; the phone said "${said}"`;
}

const reasons: Record<string, string> = {
  unknown_code: "a code not in the list", ticket_voided: "the ticket is void", ticket_refunded: "the ticket was refunded",
  ticket_already_used: "the ticket was used up", wrong_gate: "not this gate", already_scanned: "all its persons were in",
  too_soon: "too soon after the last entry", expired: "too late", not_yet_valid: "too early",
};
export const reasonWords = (reason: string | null): string => (reason ? (reasons[reason] ?? reason.replaceAll("_", " ")) : "");

/** Persons the scan was for, and how many of them are beyond the ticket. */
export function persons(scan: IncidentScan, fact: Fact): string {
  const counted = scan.within + scan.over;
  const count = fact && fact.kind !== "revert" && fact.count > counted ? fact.count : counted;
  if (scan.over > 0) return `${count} (${scan.over} over)`;
  return fact && counted === 0 && fact.opened && count > 0 ? `${count} (not counted)` : String(count);
}

/** Whom or what it is about, in words; never a bare hash. */
export function subject(incident: IncidentView, ticket: TicketView | undefined): { words: string; code: string } {
  if (incident.ticket_id) {
    const code = ticket?.barcode ?? (ticket?.barcode_hash ? `code ${ticket.barcode_hash.slice(7, 15)}…` : "");
    return { words: ticket?.guest?.name || (ticket ? "A ticket without a name" : "A ticket"), code };
  }
  if (incident.subject.startsWith("unknown:")) {
    return { words: "A code not in the list", code: (incident.barcode_hash ?? incident.subject.slice(8)).slice(7, 15) + "…" };
  }
  const kind = incident.subject.split(":")[0] ?? "";
  const words: Record<string, string> = { log: "A device's log", device: "A device", scan: "A scan", batch: "An upload of a device" };
  return { words: words[kind] ?? "Something", code: "" };
}

const GRAVITY = { critical: 0, high: 1, medium: 2, low: 3 };
/** In the order in which a person should look at them: the gravest first, and of those the newest. */
export const gravestFirst = (incidents: readonly IncidentView[]): IncidentView[] =>
  [...incidents].sort((a, b) => GRAVITY[a.severity] - GRAVITY[b.severity] || Date.parse(b.opened_at) - Date.parse(a.opened_at));

/** What was said of an incident, in words. */
export function decidedWords(decision: string): string {
  const words: Record<string, string> = { accept: "Counted", exclude: "Not counted", restore: "Taken back", note: "In order" };
  return words[decision] ?? decision;
}
/** An answer can be taken back at any time; where its cause went by itself and nothing is decided, there is none left. */
export const mayTakeBack = (incident: IncidentView): boolean => incident.status === "resolved" || incident.decided.length > 0;

/** The scans a decision is about: those that came on top, or all. */
export function decidedScans(incident: IncidentView): IncidentScan[] {
  const losers = incident.scans.filter((scan) => scan.role === "double_entry");
  return losers.length > 0 ? losers : incident.scans;
}

/** What can be decided, each with its key, and which of it is suggested: nothing, where nothing is proven. */
export function decisions(incident: IncidentView): { decision: Decision; words: string; key: string; first: boolean }[] {
  const note = (words: string, first: boolean) => ({ decision: "note" as const, words, key: "A", first });
  if (incident.kind === "unverified_scan") {
    return [
      { decision: "accept", words: "Count it", key: "A", first: false },
      { decision: "exclude", words: "Do not count it", key: "V", first: false },
      { ...note("Keep as it is", false), key: "F" },
    ];
  }
  if (incident.scans.length === 0) return [note("Noted", true)];
  return [note("It is in order", true), { decision: "exclude", words: "Do not count it", key: "V", first: false }];
}

/** The card that is next when this one is decided: the one after it, else the one before. */
export function nextCard(ids: readonly string[], decided: string): string | undefined {
  const at = ids.indexOf(decided);
  return ids[at + 1] ?? ids[at - 1];
}
