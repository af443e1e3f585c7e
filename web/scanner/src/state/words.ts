import type { FoundGuest, HistoryRow, LastEntryView, Screen, VerdictView } from "../../../shared/core/engine.ts";
import { day, span, time } from "./format.ts";

/** The shapes of experience §8: a verdict can be told by shape alone. */
export type Shape =
  | "check-circle"
  | "ring-segments"
  | "door-out"
  | "two-rings"
  | "bang-square"
  | "cross-octagon"
  | "arrow-octagon"
  | "clock-octagon"
  | "question-diamond"
  | "bars-top"
  | "ring";

/** A verdict in words: what to say, why, and what to do next. */
export interface Words {
  headline: string;
  /** `2 of 4`: persons in (or who may go in now) of a party; null for one person. */
  party: string | null;
  /** What an organiser wants looked at before this guest goes in ("Check ID"), where the headline does not say it. */
  flag: string | null;
  lines: string[];
  /** What staff do now; empty when the guest simply goes. */
  next: string;
  shape: Shape;
}

/** Screens that ask how many go in, until a count is given. */
export function asksCount(verdict: VerdictView): boolean {
  return (
    verdict.scan_id !== null &&
    !verdict.opened &&
    verdict.kind === "entry" &&
    verdict.may_admit > 0 &&
    (verdict.screen === "admit_party" || verdict.screen === "full" || verdict.screen === "check")
  );
}

/** Whether two verdicts are about one ticket. Of an unknown code there is no ticket, but the code's short form. */
export function ofSameTicket(one: VerdictView, other: VerdictView): boolean {
  if (one.ticket_id !== null || other.ticket_id !== null) return one.ticket_id === other.ticket_id;
  return one.short_code !== "" && one.short_code === other.short_code;
}

/** What a verdict looks like now: its screen, until the question it asked is answered. */
export type Face = Screen | "nobody";

export function faceOf(verdict: VerdictView): Face {
  if (verdict.screen === "same_ticket" || verdict.screen === "exit" || asksCount(verdict)) return verdict.screen;
  if (verdict.opened) return "admit";
  return ANSWERED.has(verdict.screen) ? "nobody" : verdict.screen;
}

const ANSWERED: ReadonlySet<Screen> = new Set<Screen>(["admit", "admit_party", "full", "check"]);

/**
 * What the screen says. `now` is the moment of the scan by the engine's clock, which is the server's: a phone's own may be an
 * hour off.
 */
export function wordsOf(verdict: VerdictView, now: number = Date.parse(verdict.at)): Words {
  const words = said(verdict, now);
  const flag = verdict.flag !== undefined && verdict.flag !== "" && verdict.flag !== words.headline ? verdict.flag : null;
  return { ...words, party: partyOf(verdict), flag };
}

function partyOf(verdict: VerdictView): string | null {
  if (verdict.entry_limit <= 1) return null;
  if (asksCount(verdict)) return `${verdict.may_admit} of ${verdict.entry_limit}`;
  return faceOf(verdict) === "admit" ? `${verdict.already_in + verdict.count} of ${verdict.entry_limit}` : null;
}

/** What the screen says of its own, before what belongs to the guest is added. */
type Said = Omit<Words, "party" | "flag">;

function said(verdict: VerdictView, now: number): Said {
  switch (faceOf(verdict)) {
    case "nobody":
      return { headline: "Nobody went in", lines: ["Recorded. The ticket stays good."], next: "", shape: "ring" };
    case "admit":
      return {
        headline: verdict.count > 1 ? `Admit ${verdict.count}` : "Admit",
        lines: verdict.overridden ? ["Let in by staff"] : [],
        next: "",
        shape: "check-circle",
      };
    case "admit_party":
      return { headline: "How many now?", lines: remaining(verdict), next: "", shape: "ring-segments" };
    case "exit":
      return { headline: "Exit recorded", lines: persons(verdict.count), next: "", shape: "door-out" };
    case "already_in":
      return { headline: "Already in", lines: collision(verdict, now), next: "Ask a supervisor.", shape: "two-rings" };
    case "check":
      return { headline: verdict.flag || "Check the guest", lines: remaining(verdict), next: "Look first, then decide.", shape: "bang-square" };
    case "refuse":
      return { headline: "Do not admit", lines: [cause(verdict.reason)], next: "Send the guest to the ticket desk.", shape: "cross-octagon" };
    case "wrong_place":
      return wrongPlace(verdict);
    case "wrong_time":
      return wrongTime(verdict);
    case "not_in_list":
      return {
        headline: "Not in this list",
        lines: [`Not in this device's list (${listName(verdict, now)}).`],
        next: "A ticket sold since then is not here. Ask a supervisor.",
        shape: "question-diamond",
      };
    case "not_a_ticket":
      return { headline: "Not one of our codes", lines: ["This is no ticket of any event here."], next: "Ask for the ticket.", shape: "question-diamond" };
    case "full":
      return { headline: "Area full", lines: ["Hold the queue."], next: "Let people in only as others leave.", shape: "bars-top" };
    case "same_ticket":
      return { headline: `Same ticket, ${span(verdict.same_ticket_ms ?? 0)} ago`, lines: ["On this device."], next: "", shape: "ring" };
  }
}

/** One line for the strip and the history. */
export function title(row: Pick<HistoryRow, "screen" | "kind" | "count" | "opened">): string {
  if (row.kind === "revert") return "Undone";
  if (row.kind === "exit" && row.opened) return row.count > 1 ? `Exit ${row.count}` : "Exit";
  if (row.opened) return row.count > 1 ? `Admit ${row.count}` : "Admit";
  return TITLES[row.screen];
}

/** Of a scan that let nobody in: a question answered with none is a verdict "admit" all the same. */
const TITLES: Record<Screen, string> = {
  admit: "Nobody went in",
  admit_party: "Nobody went in",
  exit: "Exit",
  already_in: "Already in",
  check: "Not let in after a check",
  refuse: "Do not admit",
  wrong_place: "Wrong gate",
  wrong_time: "Wrong time",
  not_in_list: "Not in this list",
  not_a_ticket: "Not one of our codes",
  full: "Area full",
  same_ticket: "Same ticket again",
};

/** How a guest that a search found stands: what staff see beside the name. */
export function standing(guest: FoundGuest): { words: string; tone: "go" | "in" | "stop" } {
  const party = guest.party_size > 1;
  if (guest.may_admit > 0) {
    if (guest.already_in > 0) return { words: `${guest.already_in} of ${guest.party_size} in`, tone: "go" };
    return { words: party ? `Party of ${guest.party_size}` : "Expected", tone: "go" };
  }
  if (guest.already_in > 0) return { words: party ? `All ${guest.already_in} in` : "Already in", tone: "in" };
  return { words: STOPPED[guest.reason ?? ""] ?? "Not now", tone: "stop" };
}

const STOPPED: Record<string, string> = {
  ticket_voided: "Cancelled",
  ticket_refunded: "Refunded",
  ticket_already_used: "Marked as used",
  unknown_code: "Ticket not here yet",
  expired: "Too late",
  not_yet_valid: "Too early",
  wrong_gate: "Wrong gate",
  gate_access_denied: "Wrong gate",
};

/** What Undo did. */
export function undoneWords(count: number): string {
  return count === 1 ? "Undone: one person taken back" : `Undone: ${count} persons taken back`;
}

/** What a screen reader says at once. */
export function spoken(verdict: VerdictView): string {
  const words = wordsOf(verdict);
  return [words.headline, words.party ?? "", words.flag ?? "", ...words.lines, verdict.name ?? ""].filter((part) => part !== "").join(", ");
}

/** A problem row's reason, for staff. */
export function problemCause(reason: string): string {
  return PROBLEMS[reason] ?? `The server refused it: ${reason.replaceAll("_", " ")}`;
}

const PROBLEMS: Record<string, string> = {
  malformed: "The server could not read it",
  mixed_events: "It belongs to another event",
  device_mismatch: "It belongs to another device",
  unknown_event: "The server does not know its event",
  quota: "The server keeps no more scans of this device",
};

function remaining(verdict: VerdictView): string[] {
  return verdict.already_in > 0 ? [`${verdict.already_in} already in`] : [];
}

function persons(count: number): string[] {
  return count > 1 ? [`${count} persons`] : [];
}

/** Which device scanned, in the words staff have for it: its name, else the beginning of its id, as far as it is known. */
function whichDevice(last: LastEntryView): string {
  if (last.own) return "this device";
  if (last.device !== "") return last.device;
  return last.device_id === null ? "another device" : `device ${last.device_id.slice(0, 8)}`;
}

function collision(verdict: VerdictView, now: number): string[] {
  const last = verdict.last_entry;
  const lines: string[] = [];
  if (verdict.entry_limit > 1) lines.push(`All ${verdict.entry_limit} of the party are in.`);
  if (last !== null) {
    lines.push(`${last.gate}, ${time(last.at, now)}, ${span(now - Date.parse(last.at))} ago`);
    lines.push(`Scanned on ${whichDevice(last)}`);
  }
  if (verdict.reason === "too_soon") lines.push("Coming back is allowed, but not yet.");
  return lines;
}

function cause(reason: string | null): string {
  switch (reason) {
    case "ticket_voided":
      return "This ticket was cancelled.";
    case "ticket_refunded":
      return "This ticket was refunded.";
    case "ticket_already_used":
      return "This ticket is marked as used.";
    default:
      return reason === null ? "" : reason.replaceAll("_", " ");
  }
}

function wrongPlace(verdict: VerdictView): Said {
  const gates = verdict.right_gates;
  const first = gates[0];
  return {
    headline: first === undefined ? "Wrong gate" : `Wrong gate: go to ${first}`,
    lines: gates.length > 1 ? [`Also good: ${gates.slice(1, 4).join(", ")}`] : [],
    next: first === undefined ? "No gate of this list takes this ticket. Send the guest to the ticket desk." : "",
    shape: "arrow-octagon",
  };
}

function wrongTime(verdict: VerdictView): Said {
  const early = verdict.reason === "not_yet_valid";
  const at = early ? verdict.valid_from : verdict.expires_at;
  const headline = early ? "Too early" : "Too late";
  const lines = at === null ? [] : [early ? `Valid from ${day(at)}` : `Was valid until ${day(at)}`];
  return { headline, lines, next: early ? "Ask the guest to come back then." : "Send the guest to the ticket desk.", shape: "clock-octagon" };
}

function listName(verdict: VerdictView, now: number): string {
  const made = verdict.list_at === null ? "" : `, ${time(verdict.list_at, now)}`;
  return `version ${verdict.manifest_version}${made}`;
}
