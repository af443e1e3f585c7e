import { expect, test } from "vitest";
import type { CheckInAnswer, GateView, ShownGuest } from "../../../shared/api/types";
import { answered, Asking, entryGates, offered, persons } from "./check-in.ts";

const answer = (change: Partial<CheckInAnswer>): CheckInAnswer => ({
  scan_id: "c1", outcome: "valid", reason: null, opened: true, persons: 1, last_at: null, last_gate: null, ...change,
});
const at = () => "19:12";

test("an answer says who was let in, or why nobody was", () => {
  expect(answered(answer({ persons: 2 }), "Main", at)).toBe("2 persons let in at Main.");
  const duplicate = { outcome: "duplicate", reason: "already_scanned", opened: false, persons: 0 } as const;
  expect(answered(answer(duplicate), "Main", at)).toBe("Not let in: already in");
  const before = { last_at: "2026-06-07T19:12:00Z", last_gate: "North" };
  expect(answered(answer({ ...duplicate, ...before }), "Main", at)).toBe("Not let in: already in, 19:12 at North");
  // The text names the earlier entry only for a duplicate.
  expect(answered(answer({ outcome: "invalid", reason: "ticket_voided", opened: false, ...before }), "Main", at)).toBe("Not let in: voided ticket");
  expect(answered(answer({ outcome: "expired", reason: "event_ended", opened: false }), "Main", at)).toBe("Not let in: the event has ended");
  // For an unknown reason the text names the outcome.
  expect(answered(answer({ outcome: "gate_access_denied", reason: "of_tomorrow", opened: false }), "Main", at)).toBe("Not let in: wrong gate");
  // The guest was let in by an override. The text says so, whatever the rules said.
  expect(answered(answer({ outcome: "duplicate", reason: "already_scanned" }), "Main", at)).toBe("1 person let in at Main.");
});

test("a check-in is offered for a ticket of a live event, at gates that let in, for who is still to come", () => {
  const ticket = {} as ShownGuest["ticket"];
  expect(["draft", "live", "ended", "archived"].map((status) => offered({ ticket }, { status: status as "live" }))).toEqual([false, true, false, false]);
  expect(offered({ ticket: null }, { status: "live" })).toBe(false);
  const gates = [{ id: "a", direction: "in" }, { id: "b", direction: "out" }, { id: "c", direction: "both" }] as GateView[];
  expect(entryGates(gates).map((gate) => gate.id)).toEqual(["a", "c"]);
  expect([[4, 1], [2, 2], [1, 0]].map(([party_size = 0, actual_count = 0]) => persons({ party_size, actual_count }))).toEqual([3, 1, 1]);
});

test("a check-in without an answer is sent again under its id; another one has its own", () => {
  const asking = new Asking();
  const ask = { gate_id: "main", count: 1, override_reason: null };
  const first = asking.body(ask);
  expect(first.scan_id).toMatch(/^[0-9a-f]{32}$/);
  expect(asking.body(ask)).toEqual(first);
  expect(asking.body({ ...ask, count: 2 }).scan_id).not.toBe(first.scan_id);
  const again = asking.body(ask);
  asking.answered();
  expect(asking.body(ask).scan_id).not.toBe(again.scan_id);
});
