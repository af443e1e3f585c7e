/** The texts of a case, in words that door staff use. A person needs them to decide about it. The rows only show them. */
import type { IncidentScan, IncidentView, ScanView, TicketView } from "../../../shared/api/types.ts";
import { words } from "../../../shared/words/organiser/index.ts";
import { clock, clockSeconds, length, MINUTE, when } from "./times.ts";

const { review } = words;

export type Fact = ScanView | undefined;
export type Decision = "accept" | "exclude" | "note";
export type Group = keyof typeof review.chips.groups;

/** If a scan arrived this long after it was made, the device had no network, milliseconds. */
const OFFLINE_MS = 20_000;

export const scanKey = (scan: { device_id: string; scan_id: string }): string => `${scan.device_id} ${scan.scan_id}`;

/** The data for the texts: names, the event's time zone, and the server's scans. */
export interface Context {
  zone: string;
  now: number;
  gate: (id: string) => string;
  device: (id: string) => string;
  fact: (scan: IncidentScan) => Fact;
  ticket?: TicketView | undefined;
}

/** The group of a kind of case, by which the chips filter. */
export function groupOf(kind: string): Group {
  if (kind === "double_entry") return "twice";
  if (kind === "admitted_in_error" || kind === "admitted_after_end" || kind === "walk_ins_over") return "mistake";
  if (kind === "refused_in_error") return "refused";
  return kind === "unverified_scan" || kind === "practice_after_open" ? "unproven" : "phone";
}

/** The subject of a case: a guest's name, or else the end of a code. It is never a hash. */
export function who(incident: IncidentView, ticket?: TicketView): string {
  const name = incident.guest?.name || ticket?.guest?.name;
  if (name) return name;
  if (ticket?.code_end) return review.ticket(`…${ticket.code_end}`);
  if (incident.ticket_id) return review.aTicket;
  return incident.subject.startsWith("unknown:") ? review.unknownTicket : review.someone;
}

const inOrder = (scans: readonly IncidentScan[]): IncidentScan[] => [...scans].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
const isOffline = (scan: IncidentScan, fact: Fact): boolean => fact !== undefined && Date.parse(fact.received_at) - Date.parse(scan.at) > OFFLINE_MS;

function twice(incident: IncidentView, name: string): string {
  const entries = inOrder(incident.scans.filter((scan) => scan.role !== "subject"));
  const [first, last] = [entries[0], entries[entries.length - 1]];
  if (!first || !last || first === last) return review.titles.over(name, Math.max(1, first?.over ?? 1));
  if (entries.length > 2) return review.titles.times(name, entries.length);
  const apart = Date.parse(last.at) - Date.parse(first.at);
  // The distance agrees with the times beside it: 21:31 and 21:34 are 3 min apart, whatever their seconds are.
  const byTheClock = (Math.floor(Date.parse(last.at) / MINUTE) - Math.floor(Date.parse(first.at) / MINUTE)) * MINUTE;
  return apart < 1_000 ? review.titles.twiceAtOnce(name) : review.titles.twice(name, length(apart < MINUTE ? apart : byTheClock));
}

function letIn(incident: IncidentView, gate: string, name: string): string {
  const { titles } = review;
  const reason = incident.scans.find((scan) => scan.reason !== null)?.reason;
  switch (reason) {
    case "unknown_code":
      return titles.letInUnknown(gate);
    case "ticket_voided":
      return titles.letInVoided(gate, name);
    case "ticket_refunded":
      return titles.letInRefunded(gate, name);
    case "ticket_already_used":
      return titles.letInUsed(gate, name);
    case "wrong_gate":
      return titles.letInWrongGate(gate, name, incident.entry_type);
    case "expired":
    case "not_yet_valid":
      return titles.letInTime(gate, name);
    default:
      return titles.letIn(gate, name);
  }
}

/** The case in one sentence. */
export function title(incident: IncidentView, context: Context): string {
  const { titles } = review;
  const name = who(incident, context.ticket);
  const scan = incident.scans[0];
  const gate = scan ? context.gate(scan.gate_id) : review.device;
  const device = scan ? context.device(scan.device_id) : review.device;
  switch (incident.kind) {
    case "double_entry":
      return twice(incident, name);
    case "admitted_in_error":
      return letIn(incident, gate, name);
    case "admitted_after_end":
      return titles.afterEnd(gate, name);
    case "walk_ins_over":
      return titles.walkIn(gate, name);
    case "practice_after_open":
      return titles.practice(gate, name);
    case "refused_in_error":
      return titles.refused(gate, name);
    case "unverified_scan":
      return titles.unproven(gate);
    case "implausible_time":
      return titles.implausible(device);
    case "future_time":
      return titles.future(gate);
    case "clock_suspect":
      return titles.clock(device);
    case "scan_id_reused":
      return titles.reused(device);
    case "log_forked":
      return titles.forked(device);
    case "exit_without_entry":
      return titles.leftFirst(name);
    case "high_error_rate":
      return titles.errorRate(device);
    case "delayed_batch":
      return titles.delayed(device);
    case "abnormal_batch":
      return titles.abnormal(device);
    case "repeated_failures":
      return titles.failures(device);
    default:
      return titles.other;
  }
}

/** The text about an override: who made it, and why. */
export function pin(incident: IncidentView, context: Context): string {
  for (const scan of incident.scans) {
    const override = context.fact(scan)?.override;
    if (override) return review.pinBy(override.by, override.reason, when(scan.at, context.zone, context.now));
  }
  return "";
}

/** The line under the sentence: gates with their times, or the override. */
export function under(incident: IncidentView, context: Context): string {
  const used = pin(incident, context);
  if (used !== "") return used;
  const places = inOrder(incident.scans).map((scan) => review.scanAt(context.gate(scan.gate_id), when(scan.at, context.zone, context.now)));
  const shown = inOrder(incident.scans).slice(0, 3).map((scan, at) => {
    // If two scans have the same gate and minute, their phones are named too.
    const alike = places.filter((place) => place === places[at]).length > 1;
    const place = isOffline(scan, context.fact(scan)) ? review.offline(places[at] ?? "") : (places[at] ?? "");
    return alike ? review.deviceAt(place, context.device(scan.device_id)) : place;
  });
  const more = incident.scans.length - shown.length;
  return [...shown, ...(more > 0 ? [review.moreScans(more)] : [])].join(" · ");
}

/** The mark before the sentence, and its colour by severity. */
export function mark(incident: IncidentView): { text: string; tone: "bad" | "warn" } {
  const { tags } = review;
  if (incident.kind === "double_entry") {
    const entries = incident.scans.filter((scan) => scan.role !== "subject").length;
    return { text: entries > 2 ? tags.many(entries) : tags.twice, tone: "bad" };
  }
  const wrongGate = incident.scans.some((scan) => scan.reason === "wrong_gate");
  if (incident.kind === "admitted_in_error") return { text: wrongGate ? tags.gate : tags.mistake, tone: "warn" };
  if (incident.kind === "refused_in_error") return { text: tags.refused, tone: "warn" };
  if (incident.kind === "exit_without_entry") return { text: tags.left, tone: "warn" };
  return { text: groupOf(incident.kind) === "unproven" ? tags.mistake : tags.phone, tone: "warn" };
}

/** Says what the case means, and what holds until somebody decides. */
export function explain(incident: IncidentView, context: Context): string {
  const { explain: said } = review;
  const uncertain = incident.order_uncertain ? ` ${said.uncertain}` : "";
  if (incident.kind === "double_entry") {
    const offline = incident.scans.some((scan) => isOffline(scan, context.fact(scan)));
    return (offline ? said.twiceOffline : said.twice) + uncertain;
  }
  if (incident.kind === "admitted_in_error") return pin(incident, context) === "" ? `${said.mistakeList} ${said.mistake}` : said.pin;
  if (incident.kind === "refused_in_error") return said.refused;
  if (incident.kind === "unverified_scan") return said.unproven;
  if (incident.kind === "practice_after_open") return said.practice;
  if (incident.kind === "admitted_after_end") return said.afterEnd;
  if (incident.kind === "walk_ins_over") return said.walkIn;
  return (incident.kind === "exit_without_entry" ? said.left : said.phone) + uncertain;
}

/** One scan on the timeline of a case. */
export interface Point {
  key: string;
  at: number;
  /** "19:12:04 Main entrance". */
  above: string;
  /** "Pixel 3 · 2 persons". */
  middle: string;
  /** "offline until 19:21". */
  below: string;
  tone: "ok" | "bad" | "still";
}

/** The scans of a case as points on a timeline, in the order of their times. */
export function points(incident: IncidentView, context: Context): Point[] {
  const scans = inOrder(incident.scans);
  return scans.map((scan, index) => {
    const fact = context.fact(scan);
    const offline = isOffline(scan, fact);
    const time = when(scan.at, context.zone, context.now) === clock(scan.at, context.zone) ? clockSeconds(scan.at, context.zone) : when(scan.at, context.zone, context.now);
    const otherOffline = scans.some((one, at) => at < index && isOffline(one, context.fact(one)) && Date.parse(context.fact(one)?.received_at ?? one.at) > Date.parse(scan.at));
    const network = offline && fact ? review.offlineUntil(when(fact.received_at, context.zone, context.now)) : otherOffline ? review.couldNotKnow : "";
    return {
      key: scanKey(scan),
      at: Date.parse(scan.at),
      above: review.scanAt(time, context.gate(scan.gate_id)),
      middle: review.by(context.device(scan.device_id), persons(scan, fact)),
      below: [network, becomes(scan, fact)].filter(Boolean).join(" · "),
      tone: scan.role === "double_entry" || scan.over > 0 ? "bad" : fact && !fact.opened ? "still" : "ok",
    };
  });
}

function becomes(scan: IncidentScan, fact: Fact): string {
  if (fact?.kind === "revert") return review.undone;
  if (fact?.kind === "headcount") return review.countedByHand;
  if (fact && !fact.opened) return review.refusedThere;
  if (fact?.kind === "exit") return review.leftThere;
  if (scan.role === "double_entry") return review.waits;
  return scan.role === "entry" ? review.counted : "";
}

/** Persons the scan was for. */
export function persons(scan: IncidentScan, fact: Fact): number {
  const counted = scan.within + scan.over;
  return fact && fact.kind !== "revert" ? Math.max(fact.count, counted) : counted;
}

const GRAVITY = { critical: 0, high: 1, medium: 2, low: 3 };
/** Sorts incidents: the most severe first, and of equal severity the newest first. */
export const gravestFirst = (incidents: readonly IncidentView[]): IncidentView[] =>
  [...incidents].sort((a, b) => GRAVITY[a.severity] - GRAVITY[b.severity] || Date.parse(b.opened_at) - Date.parse(a.opened_at));

/** The text of a decision about a case. */
export function decidedWords(incident: IncidentView): string {
  const decision = incident.resolution?.decision;
  if (decision === "note" && !counts(incident)) return review.noted;
  return decision === undefined ? review.closedByItself : (review.decidedBy[decision as keyof typeof review.decidedBy] ?? review.noted);
}
/** Whether there is a decision to take back. There is none if the cause went away by itself and nothing was decided. */
export const mayTakeBack = (incident: IncidentView): boolean => incident.status === "resolved" || incident.decided.length > 0;

/** The scans that a decision is about: those beyond the limit (`double_entry`), or all if there are none. */
export function decidedScans(incident: IncidentView): IncidentScan[] {
  const losers = incident.scans.filter((scan) => scan.role === "double_entry");
  return losers.length > 0 ? losers : incident.scans;
}

/** Whether a person decides whether the case's entry counts. */
const counts = (incident: IncidentView): boolean => ["double_entry", "admitted_in_error", "admitted_after_end", "walk_ins_over", "unverified_scan", "practice_after_open"].includes(incident.kind);
/** Whether the case's scan counts nothing until a person accepts it. */
const waits = (incident: IncidentView): boolean => ["unverified_scan", "practice_after_open"].includes(incident.kind);

/** The possible decisions, each with its key. `first` marks the suggested one. For unproven scans none is suggested. */
export function decisions(incident: IncidentView): { decision: Decision; words: string; key: string; first: boolean }[] {
  if (waits(incident)) {
    return [
      { decision: "accept", words: review.count, key: "A", first: false },
      { decision: "exclude", words: review.exclude, key: "X", first: false },
      { decision: "note", words: review.keep, key: "F", first: false },
    ];
  }
  if (incident.scans.length === 0 || incident.kind === "refused_in_error") return [{ decision: "note", words: review.noted, key: "A", first: true }];
  const both = incident.kind === "double_entry";
  return [
    { decision: "note", words: both ? review.countBoth : counts(incident) ? review.count : review.noted, key: "A", first: true },
    { decision: "exclude", words: both ? review.oneWrong : review.exclude, key: "X", first: false },
  ];
}

/** The requests for one answer to many cases. "Count" accepts scans that wait for a person, and sends a note for the other cases. */
export function bulk(incidents: readonly IncidentView[], count: boolean): { decision: Decision; ids: string[] }[] {
  const ids = (wanted: (incident: IncidentView) => boolean): string[] => incidents.filter(wanted).map((one) => one.id);
  const parts: { decision: Decision; ids: string[] }[] = count
    ? [{ decision: "accept", ids: ids(waits) }, { decision: "note", ids: ids((one) => !waits(one)) }]
    : [{ decision: "exclude", ids: ids((one) => decisions(one).some((each) => each.decision === "exclude")) }];
  return parts.filter((part) => part.ids.length > 0);
}

/** The case to show after a decision: the next one, or else the one before. */
export function nextCard(ids: readonly string[], decided: string): string | undefined {
  const at = ids.indexOf(decided);
  return ids[at + 1] ?? ids[at - 1];
}
