import { expect, test } from "vitest";
import type { IncidentScan, IncidentView, ScanView, TicketView } from "../../../shared/api/types.ts";
import { decisions, door, gravestFirst, mayTakeBack, nextCard, persons, subject, what } from "./review.ts";

const scan = (more: Partial<IncidentScan> = {}): IncidentScan => ({
  device_id: "d", scan_id: "s", role: "subject", gate_id: "g", at: "2026-11-22T20:00:00.120Z", uncertainty_ms: 0, within: 0, over: 0,
  reason: null, manifest_version: 1, ...more,
});
const fact = (more: Partial<ScanView> = {}): ScanView => ({
  device_id: "d", scan_id: "s", kind: "entry", stage: "final", seq: 7, count: 1, device_outcome: "valid", opened: true, override: null, method: "qr",
  signature: "verified", received_at: "2026-11-22T20:01:00Z", operator: null, ...more,
});
const incident = (more: Partial<IncidentView>): IncidentView => ({
  id: "i", kind: "unverified_scan", severity: "high", status: "open", ticket_id: null, barcode_hash: null, guest: null, entry_type: null, subject: "", order_uncertain: false,
  scans: [], resolution: null, decided: [], opened_at: "", updated_at: "", ...more,
});

test("an entry, an exit, an undo and a door that stayed shut are told apart", () => {
  expect(what(scan(), fact())).toBe("Entered");
  expect(what(scan({ role: "double_entry" }), fact())).toBe("Entered on top");
  expect(what(scan(), fact({ kind: "exit" }))).toBe("Left");
  expect(what(scan(), fact({ kind: "revert", opened: false }))).toBe("Undo of a scan");
  expect(what(scan(), fact({ opened: false }))).toBe("Refused");
  expect(what(scan(), undefined)).toBe("Scanned");
  expect(door(fact({ opened: false, device_outcome: "duplicate" }))).toBe('stayed shut; the phone said "Already in"');
});

test("the persons of a scan that is not counted are shown, and said not to count", () => {
  expect(persons(scan(), fact({ count: 3 }))).toBe("3 (not counted)");
  expect(persons(scan({ within: 1, over: 1 }), fact({ count: 2 }))).toBe("2 (1 over)");
});

test("a card names its guest and code, never a bare hash", () => {
  const ticket = { barcode: "GALA-7", guest: { name: "Amélie" } } as TicketView;
  expect(subject(incident({ ticket_id: "t", subject: "ticket:t" }), ticket)).toEqual({ words: "Amélie", code: "GALA-7" });
  expect(subject(incident({ subject: "unknown:sha256:1eba46dcd788", barcode_hash: "sha256:1eba46dcd788" }), undefined)).toEqual({
    words: "A code not in the list",
    code: "1eba46dc…",
  });
});

test("nothing is suggested for a scan that nothing proves", () => {
  expect(decisions(incident({ scans: [scan()] })).some((one) => one.first)).toBe(false);
  expect(decisions(incident({ kind: "double_entry", scans: [scan()] })).filter((one) => one.first)).toHaveLength(1);
});

test("after a decision the next card is at hand, and after the last the one before", () => {
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
  const decided = [{ device_id: "d", scan_id: "s", decision: "exclude" as const }];
  expect(mayTakeBack(incident({ status: "resolved" }))).toBe(true);
  expect(mayTakeBack(incident({ status: "cleared", decided }))).toBe(true);
  expect(mayTakeBack(incident({ status: "cleared" }))).toBe(false);
});
