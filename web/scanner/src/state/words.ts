import type { FoundGuest, HistoryRow, LastEntryView, Screen, VerdictView } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import type { ReaderFault } from "../camera/messages.ts";
import { day, span, time } from "./format.ts";

/** The shapes of verdicts (experience §8). Staff can tell verdicts apart by shape alone. */
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
  | "ring"
  | "moon";

/** The texts of a verdict: what it is, why, and what staff do next. */
export interface Words {
  headline: string;
  /** Of a party, the persons who are in (`2 of 4`), or who are left if the screen asks for a number. Null for one person. */
  party: string | null;
  /** The check that staff must do before this guest goes in ("Check ID"). Null if the headline says it. */
  flag: string | null;
  lines: string[];
  /** The next step for staff. Empty if there is nothing to do. */
  next: string;
  shape: Shape;
}

/** Whether the screen asks how many persons go in, and nobody has answered yet. */
export function asksCount(verdict: VerdictView): boolean {
  return (
    verdict.scan_id !== null &&
    !verdict.opened &&
    verdict.kind === "entry" &&
    verdict.may_admit > 0 &&
    (verdict.screen === "admit_party" || verdict.screen === "full" || verdict.screen === "check")
  );
}

/** Whether two verdicts are about the same ticket. Unknown codes have no ticket, so their short codes are compared. */
export function ofSameTicket(one: VerdictView, other: VerdictView): boolean {
  if (one.ticket_id !== null || other.ticket_id !== null) return one.ticket_id === other.ticket_id;
  return one.short_code !== "" && one.short_code === other.short_code;
}

/** The present look of a verdict. It is the verdict's screen until staff answer the question that it asks. */
export type Face = Screen | "nobody";

/** Whether this is the verdict of the sample ticket, for which the device records nothing. */
export function isSample(verdict: VerdictView): boolean {
  return verdict.practice === true && verdict.scan_id === null && verdict.screen === "admit";
}

/** Says why a code was not judged: a sheet is open, a question is open, or the verdict before was too recent. */
export function heldWords(sheet: boolean, asking: boolean): string {
  if (sheet) return words.scan.closeFirst;
  return asking ? words.scan.answerFirst : words.scan.scanAgain;
}

export function faceOf(verdict: VerdictView): Face {
  if (verdict.screen === "same_ticket" || verdict.screen === "exit" || asksCount(verdict)) return verdict.screen;
  if (verdict.opened) return "admit";
  return ANSWERED.has(verdict.screen) ? "nobody" : verdict.screen;
}

const ANSWERED: ReadonlySet<Screen> = new Set<Screen>(["admit", "admit_party", "full", "check"]);

/**
 * The texts of a verdict. `now`: the present by the server's clock, which the engine uses, because a phone's own clock may be wrong.
 * By default it is the time of the scan.
 */
export function wordsOf(verdict: VerdictView, now: number = Date.parse(verdict.at)): Words {
  const screen = said(verdict, now);
  // If staff must check the guest, the flag is the headline already.
  const flag = verdict.flag && faceOf(verdict) !== "check" ? words.verdict.flag(verdict.flag) : null;
  return { ...screen, party: partyOf(verdict), flag };
}

function partyOf(verdict: VerdictView): string | null {
  if (verdict.entry_limit <= 1) return null;
  // At a full area staff would read "3 left" as free places.
  if (verdict.screen === "full" && asksCount(verdict)) return null;
  if (asksCount(verdict)) return words.verdict.left(verdict.may_admit);
  return faceOf(verdict) === "admit" ? words.verdict.inParty(verdict.already_in + verdict.count, verdict.entry_limit) : null;
}

/** The texts of the screen itself, without those about the guest. */
type Said = Omit<Words, "party" | "flag">;

function said(verdict: VerdictView, now: number): Said {
  switch (faceOf(verdict)) {
    case "nobody":
      return { headline: words.verdict.nobody, lines: [words.verdict.nobodyWhy], next: "", shape: "ring" };
    case "admit":
      return {
        headline: words.verdict.admit(verdict.count),
        lines: verdict.overridden ? [words.verdict.byStaff] : [],
        next: "",
        shape: "check-circle",
      };
    case "admit_party":
      return { headline: words.verdict.howMany, lines: remaining(verdict), next: "", shape: "ring-segments" };
    case "exit":
      return { headline: words.verdict.exit, lines: persons(verdict.count), next: "", shape: "door-out" };
    case "already_in":
      return { headline: words.verdict.alreadyIn, lines: collision(verdict, now), next: words.verdict.askSupervisor, shape: "two-rings" };
    case "check":
      return {
        headline: verdict.flag ? words.verdict.checkFlag(verdict.flag) : words.verdict.check,
        lines: remaining(verdict),
        next: words.verdict.checkNext,
        shape: "bang-square",
      };
    case "refuse":
      return { headline: words.verdict.refuse, lines: [cause(verdict.reason)], next: words.verdict.toTicketDesk, shape: "cross-octagon" };
    case "wrong_place":
      return wrongPlace(verdict);
    case "wrong_time":
      return wrongTime(verdict);
    case "ended":
      return { headline: words.verdict.ended, lines: [words.verdict.endedWhy], next: words.verdict.endedNext, shape: "moon" };
    case "not_in_list":
      if (verdict.decided_by === "server") {
        return { headline: words.verdict.notInList, lines: [words.verdict.notAtServer], next: words.verdict.toTicketDesk, shape: "question-diamond" };
      }
      return {
        headline: words.verdict.notInList,
        lines: [words.verdict.notInListWhy(verdict.manifest_version, verdict.list_at === null ? null : time(verdict.list_at, now))],
        next: words.verdict.notInListNext,
        shape: "question-diamond",
      };
    case "not_a_ticket":
      return {
        headline: words.verdict.notATicket,
        lines: [words.verdict.notATicketWhy],
        next: words.verdict.notATicketNext,
        shape: "question-diamond",
      };
    case "full":
      return { headline: (verdict.places_left ?? 0) > 0 ? words.verdict.nearlyFull : words.verdict.full, lines: [words.verdict.fullWhy(verdict.places_left ?? 0, verdict.may_admit)], next: words.verdict.fullNext, shape: "bars-top" };
    case "same_ticket":
      return {
        headline: words.verdict.sameTicket(span((verdict.same_ticket_ms ?? 0) + Math.max(0, now - Date.parse(verdict.at)))),
        lines: [words.verdict.sameTicketWhere],
        next: "",
        shape: "ring",
      };
  }
}

/** The title of a past scan, for the history. */
export function title(row: Pick<HistoryRow, "screen" | "kind" | "count" | "opened" | "headcount" | "reason">): string {
  if (row.headcount !== undefined) return words.headcount.row(row.headcount);
  if (row.kind === "revert") return words.titles.undone;
  if (row.kind === "exit" && row.opened) return words.titles.exit(row.count);
  // The titles of screens are for scans that let nobody in. Their screen may be `admit`, if staff answered a question with nobody.
  if (row.opened) return words.verdict.admit(row.count);
  if (row.screen === "wrong_time") return wrongTimeTitle(row.reason);
  return words.titles.screens[row.screen];
}

/** The shape of a past scan's verdict. */
export function rowShape(row: Pick<HistoryRow, "screen" | "kind" | "opened">): Shape {
  if (row.kind === "revert" || row.kind === "headcount") return "ring";
  if (row.kind === "exit" && row.opened) return "door-out";
  return row.opened ? "check-circle" : SHAPES[row.screen];
}

const SHAPES: Record<Screen, Shape> = {
  admit: "ring",
  admit_party: "ring",
  exit: "door-out",
  already_in: "two-rings",
  check: "bang-square",
  refuse: "cross-octagon",
  wrong_place: "arrow-octagon",
  wrong_time: "clock-octagon",
  ended: "moon",
  not_in_list: "question-diamond",
  not_a_ticket: "question-diamond",
  full: "bars-top",
  same_ticket: "ring",
};

/** The state of a found guest, which staff see beside the name. */
export function standing(guest: FoundGuest): { words: string; tone: "go" | "in" | "stop" } {
  const party = guest.party_size > 1;
  if (guest.may_admit > 0) {
    if (guest.already_in > 0) return { words: words.search.someIn(guest.already_in, guest.party_size), tone: "go" };
    return { words: party ? words.search.party(guest.party_size) : words.search.expected, tone: "go" };
  }
  if (guest.already_in > 0) return { words: party ? words.search.allIn(guest.already_in) : words.search.alreadyIn, tone: "in" };
  return { words: known(words.search.stopped, guest.reason ?? "") ?? words.search.notNow, tone: "stop" };
}

/** The text that a screen reader says when a verdict comes. */
export function spoken(verdict: VerdictView): string {
  const screen = wordsOf(verdict);
  const fields = (verdict.fields ?? []).map(({ label, value }) => words.verdict.field(label, value));
  return [screen.headline, screen.party ?? "", screen.flag ?? "", ...screen.lines, verdict.name ?? "", ...fields].filter((part) => part !== "").join(", ");
}

/** The text for the reason why the server refused a scan. */
export function problemCause(reason: string): string {
  return known(words.sync.causes, reason) ?? words.sync.otherCause(spaced(reason));
}

/** Why no code can be read by camera, for staff. */
export function readerFaultWords(fault: ReaderFault): string {
  return words.camera.unreadable(words.camera.reader[fault.reason](fault.error));
}

/** The text of a reason; undefined for one that this app does not know. */
function known(texts: Readonly<Record<string, string>>, reason: string): string | undefined {
  return Object.hasOwn(texts, reason) ? texts[reason] : undefined;
}

/** The server's word for a reason, with spaces. */
function spaced(reason: string): string {
  return reason.replaceAll("_", " ");
}

function remaining(verdict: VerdictView): string[] {
  return verdict.already_in > 0 ? [words.verdict.inBefore(verdict.already_in)] : [];
}

function persons(count: number): string[] {
  return count > 1 ? [words.verdict.persons(count)] : [];
}

/** Names the device that scanned: by its name, or by the beginning of its id if the name is unknown. */
function whichDevice(last: LastEntryView): string {
  if (last.own) return words.verdict.thisDevice;
  if (last.device !== "") return last.device;
  return last.device_id === null ? words.verdict.anotherDevice : words.verdict.deviceOf(last.device_id.slice(0, 8));
}

function collision(verdict: VerdictView, now: number): string[] {
  const last = verdict.last_entry;
  const lines: string[] = [];
  if (verdict.entry_limit > 1) lines.push(words.verdict.allIn(verdict.entry_limit));
  if (last !== null) {
    lines.push(words.verdict.lastEntry(last.gate, time(last.at, now), span(now - Date.parse(last.at))));
    lines.push(words.verdict.scannedOn(whichDevice(last)));
  }
  if (verdict.reason === "too_soon") lines.push(words.verdict.tooSoon);
  if (verdict.reason === "already_today") lines.push(words.verdict.alreadyToday);
  if (verdict.reason === "already_at_gate") lines.push(words.verdict.alreadyAtGate);
  if (verdict.reason === "uses_spent") lines.push(words.verdict.usesSpent);
  return lines;
}

function cause(reason: string | null): string {
  return reason === null ? "" : (known(words.verdict.causes, reason) ?? spaced(reason));
}

function wrongPlace(verdict: VerdictView): Said {
  const gates = verdict.right_gates;
  const first = gates[0];
  return {
    headline: first === undefined ? words.verdict.wrongGate : words.verdict.goTo(first),
    lines: gates.length > 1 ? [words.verdict.alsoGood(gates.slice(1, 4))] : [],
    next: first === undefined ? words.verdict.noGate : "",
    shape: "arrow-octagon",
  };
}

const isEarly = (reason: string | null | undefined): boolean => reason === "not_yet_valid";
const wrongTimeTitle = (reason: string | null | undefined): string => (isEarly(reason) ? words.verdict.tooEarly : words.verdict.tooLate);

function wrongTime(verdict: VerdictView): Said {
  const early = isEarly(verdict.reason);
  const at = early ? verdict.valid_from : verdict.expires_at;
  const headline = wrongTimeTitle(verdict.reason);
  const lines = at === null ? [] : [early ? words.verdict.validFrom(day(at)) : words.verdict.validUntil(day(at))];
  return { headline, lines, next: early ? words.verdict.comeBack : words.verdict.toTicketDesk, shape: "clock-octagon" };
}
