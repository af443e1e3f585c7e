import { expect, test } from "vitest";
import type { IncidentScan, IncidentView, ScanView, TicketView } from "../../../shared/api/types.ts";
import { bulk, type Context, decidedWords, decisions, explain, gravestFirst, groupOf, mark, mayTakeBack, nextCard, points, title, under, who } from "./review.ts";

const scan = (more: Partial<IncidentScan> = {}): IncidentScan => ({
  device_id: "d1", scan_id: "s1", role: "subject", gate_id: "main", at: "2026-11-22T18:12:04.120Z", uncertainty_ms: 0, within: 0, over: 0,
  reason: null, manifest_version: 1, ...more,
});
const fact = (more: Partial<ScanView> = {}): ScanView => ({
  device_id: "d1", scan_id: "s1", kind: "entry", stage: "final", seq: 7, count: 1, device_outcome: "valid", opened: true, override: null, method: "qr",
  signature: "verified", received_at: "2026-11-22T18:12:06Z", operator: null, headcount: null, at: "2026-11-22T18:12:04.120Z", gate_id: "main", form: "v2", log_id: "l", manifest_version: 1, serial: 1,
  barcode_hash: null, ticket_id: null, target_device: null, target_scan_id: null, uncertainty_ms: 0, verdict: null, ...more,
});
const incident = (more: Partial<IncidentView>): IncidentView => ({
  id: "i", event_id: "e", device_id: null, kind: "unverified_scan", severity: "high", status: "open", ticket_id: null, barcode_hash: null, guest: null, entry_type: null, subject: "", order_uncertain: false,
  scans: [], resolution: null, decided: [], opened_at: "", updated_at: "", ...more,
});
const GATES: Record<string, string> = { main: "Main entrance", north: "North gate" };
const context = (facts: Record<string, ScanView> = {}): Context => ({
  zone: "Europe/Berlin", now: Date.parse("2026-11-22T20:00:00Z"), gate: (id) => GATES[id] ?? id, device: (id) => (id === "d1" ? "Pixel 3" : "Pixel 4"),
  fact: (one) => facts[one.scan_id],
});
const guest = { id: "g", name: "Ana Botha", party_size: 1 };
const first = scan({ role: "entry", within: 1 });
const second = scan({ role: "double_entry", device_id: "d2", scan_id: "s2", gate_id: "north", at: "2026-11-22T18:16:30Z", over: 1 });
const double = incident({ kind: "double_entry", ticket_id: "t", guest, scans: [second, first] });

test("a double entry is a sentence with its guest, its gates and the time between", () => {
  const offline = context({ s1: fact({ received_at: "2026-11-22T18:21:00Z" }), s2: fact({ scan_id: "s2", received_at: "2026-11-22T18:16:31Z" }) });
  expect(title(double, offline)).toBe("Ana Botha came in twice, 4 min apart");
  expect(under(double, offline)).toBe("Main entrance 19:12, offline · North gate 19:16");
  expect(mark(double)).toEqual({ text: "2×", tone: "bad" });
  expect(explain(double, offline)).toContain("a phone had no network");
  expect(points(double, offline)).toEqual([
    { key: "d1 s1", at: Date.parse(first.at), above: "19:12:04 Main entrance", middle: "Pixel 3", below: "offline until 19:21 · counted", tone: "ok" },
    { key: "d2 s2", at: Date.parse(second.at), above: "19:16:30 North gate", middle: "Pixel 4", below: "could not know of the other · waits for you", tone: "bad" },
  ]);
});

test("two scans at one gate in one minute are told apart by their phones", () => {
  const close = incident({ ...double, scans: [first, scan({ role: "double_entry", device_id: "d2", scan_id: "s2", at: "2026-11-22T18:12:40Z" })] });
  const offline = context({ s1: fact({ received_at: "2026-11-22T18:21:00Z" }) });
  expect(under(close, offline)).toBe("Main entrance 19:12, offline (Pixel 3) · Main entrance 19:12 (Pixel 4)");
});

test("what one scan brought over its limit, and what was many times, is not called twice", () => {
  const party = incident({ ...double, scans: [scan({ role: "double_entry", over: 2 })] });
  expect(title(party, context())).toBe("Ana Botha came in with 2 persons over the ticket's limit");
  const thrice = incident({ ...double, scans: [first, second, scan({ role: "double_entry", scan_id: "s3", at: "2026-11-22T18:30:00Z" })] });
  expect(title(thrice, context())).toBe("Ana Botha came in 3 times");
  expect(mark(thrice).text).toBe("3×");
});

test("each reason of a wrong entry is told by the gate that let in", () => {
  const wrong = (reason: string, more: Partial<IncidentView> = {}) =>
    title(incident({ kind: "admitted_in_error", ticket_id: "t", guest, scans: [scan({ reason })], ...more }), context());
  expect(wrong("ticket_voided")).toBe("Main entrance let in Ana Botha on a voided ticket");
  expect(wrong("wrong_gate", { entry_type: "General" })).toBe("Main entrance let in a General ticket");
  expect(wrong("unknown_code", { guest: null, ticket_id: null, subject: "unknown:sha256:1eba" })).toBe("Main entrance let in an unknown ticket");
  const pin = incident({ kind: "admitted_in_error", guest, scans: [scan({ reason: "wrong_gate" })] });
  const facts = context({ s1: fact({ override: { by: "Mia", reason: "with the band" } }) });
  expect(under(pin, facts)).toBe("Staff PIN, “with the band” · Mia, 19:12");
  expect(mark(pin).text).toBe("↔");
});

test("nobody is called by a hash or an id", () => {
  const ticket = { code_end: "A-7", guest: null } as unknown as TicketView;
  expect(who(incident({ ticket_id: "t" }), ticket)).toBe("Ticket …A-7");
  expect(who(incident({ ticket_id: "t" }))).toBe("A ticket");
  expect(who(incident({ subject: "unknown:sha256:1eba46dcd788", barcode_hash: "sha256:1eba46dcd788" }))).toBe("An unknown ticket");
  for (const kind of ["implausible_time", "future_time", "clock_suspect", "scan_id_reused", "log_forked", "high_error_rate", "delayed_batch", "repeated_failures"] as const) {
    const told = title(incident({ kind, scans: [scan()] }), context());
    expect(told).not.toMatch(/_|undefined|d1/);
    expect(groupOf(kind)).toBe("phone");
  }
});

test("nothing is suggested for a scan that nothing proves", () => {
  expect(decisions(incident({ scans: [scan()] })).some((one) => one.first)).toBe(false);
  expect(decisions(double).map((one) => `${one.key} ${one.words}`)).toEqual(["A Count both", "X One was wrong"]);
  expect(decisions(incident({ kind: "refused_in_error", scans: [scan()] })).map((one) => one.words)).toEqual(["Noted"]);
});

test("many cases are decided by one answer, each as its kind asks", () => {
  const many = [double, incident({ id: "u", scans: [scan()] }), incident({ id: "r", kind: "refused_in_error", scans: [scan()] })];
  expect(bulk(many, true)).toEqual([{ decision: "accept", ids: ["u"] }, { decision: "note", ids: ["i", "r"] }]);
  expect(bulk(many, false)).toEqual([{ decision: "exclude", ids: ["i", "u"] }]);
});

test("after a decision the next case is at hand, and after the last the one before", () => {
  expect(nextCard(["a", "b", "c"], "b")).toBe("c");
  expect(nextCard(["a", "b"], "b")).toBe("a");
  expect(nextCard(["a"], "a")).toBeUndefined();
});

test("the gravest comes first, and of the equally grave the newest", () => {
  const one = (id: string, severity: IncidentView["severity"], opened_at: string) => incident({ id, severity, opened_at });
  const queue = [
    one("new and low", "low", "2026-11-22T21:00:00Z"),
    one("old and critical", "critical", "2026-11-22T19:00:00Z"),
    one("newer and critical", "critical", "2026-11-22T20:00:00Z"),
  ];
  expect(gravestFirst(queue).map((each) => each.id)).toEqual(["newer and critical", "old and critical", "new and low"]);
});

test("an answer is taken back while it stands or something is decided by it", () => {
  const by = { note: "", at: "", user_id: "u" };
  const decided = [{ device_id: "d", scan_id: "s", decision: "exclude" as const, ...by }];
  expect(mayTakeBack(incident({ status: "resolved" }))).toBe(true);
  expect(mayTakeBack(incident({ status: "cleared", decided }))).toBe(true);
  expect(mayTakeBack(incident({ status: "cleared" }))).toBe(false);
  expect(decidedWords(incident({ resolution: { decision: "exclude", ...by } }))).toBe("Not counted");
  expect(decidedWords(incident({ kind: "clock_suspect", resolution: { decision: "note", ...by } }))).toBe("Noted");
});
