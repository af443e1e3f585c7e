import { expect, test } from "vitest";
import type { GuestView, MomentView } from "../../../shared/api/types";
import { changedFields, filled, mailWords, smsLink, standing as standingAt, told } from "./story.ts";

const moment = (change: Partial<MomentView>): MomentView => ({
  at: "2026-06-07T19:00:00Z",
  what: "entered",
  fields: [],
  outcome: null,
  by: null,
  gate: null,
  device: null,
  persons: 1,
  by_hand: false,
  counts: true,
  ...change,
});

test("a guest's story reads as people would tell it", () => {
  expect(told(moment({ what: "added", by: "Ana" }))).toBe("Added by Ana");
  expect(told(moment({ what: "changed", fields: ["party_size", "note"], by: "Ana" }))).toBe("Changed by Ana: party, note");
  expect(told(moment({ persons: 3, gate: "North", device: "N1", by_hand: true, by: "Sam" }))).toBe(
    "Let in 3 persons at North (N1), found by name by Sam",
  );
  expect(told(moment({ what: "refused", outcome: "duplicate", gate: "North" }))).toBe("Not let in at North: already in");
  expect(told(moment({ what: "entered", counts: false }))).toBe("Let in 1 person, not counted");
  expect(told(moment({ what: "undone", device: "N1" }))).toBe("Undone (N1)");
  expect(told(moment({ what: "resent", by: "Ana" }))).toBe("Pass sent again by Ana");
  expect(told(moment({ what: "remade", by: "Ana" }))).toBe("Pass asked for again by Ana: there is no e-mail address, so nothing was sent");
  expect(told(moment({ what: "opened" }))).toBe("Pass opened for the first time");
  expect(told(moment({ what: "row_deleted" }))).toContain("stays good");
});

test("where a guest stands", () => {
  const guest = (change: Partial<GuestView>) => ({ status: "pending", ticket_status: "active", party_size: 1, actual_count: 0, ...change }) as GuestView;
  const standing = (one: GuestView) => standingAt(one, { re_entry: "never" });
  expect(standing(guest({}))).toBe("expected");
  expect(standing(guest({ status: "no_show" }))).toBe("did not come");
  expect(standing(guest({ status: "checked_in", actual_count: 1 }))).toBe("in");
  expect(standing(guest({ status: "checked_in", party_size: 4, actual_count: 3 }))).toBe("3 of 4 in");
  expect(standing(guest({ ticket_status: null }))).toBe("expected");
  // Whose ticket is void is not awaited, and did not stay away.
  expect(standing(guest({ ticket_status: "voided" }))).toBe("voided");
  expect(standing(guest({ status: "no_show", ticket_status: "refunded" }))).toBe("refunded");
  expect(standing(guest({ status: "checked_in", actual_count: 1, ticket_status: "voided" }))).toBe("voided");
  // Where people come again, entries are not called persons.
  expect(standingAt(guest({ status: "checked_in", party_size: 2, actual_count: 3 }), { re_entry: "after_exit" })).toBe("3 entries, for 2");
  expect(standingAt(guest({ status: "checked_in", actual_count: 2 }), { re_entry: "after_gap" })).toBe("in");
});

test("how the mail of a pass stands", () => {
  const mail = (state: "sent" | "waiting" | "not_sent", why: string | null = null) => mailWords({ mail: { state, why, at: null } });
  expect(mailWords({ mail: null })).toBe("");
  expect(mail("sent")).toBe("sent");
  expect(mail("waiting")).toBe("on its way");
  expect(mail("waiting", "the mail server takes too long")).toBe("waits to be tried again: the mail server takes too long");
  expect(mail("not_sent", "no e-mail address")).toBe("not sent: no e-mail address");
});

test("a text message goes to the number alone, its words escaped", () => {
  expect(smsLink("+49 (30) 12-34", "Your pass & more: https://x/passes?token=a")).toBe(
    "sms:+49301234?&body=Your%20pass%20%26%20more%3A%20https%3A%2F%2Fx%2Fpasses%3Ftoken%3Da",
  );
});

test("a number written for both sides of a border is dialled from abroad", () => {
  expect(smsLink("+49 (0)170 123", "x")).toBe("sms:+49170123?&body=x");
  expect(smsLink("0170 123", "x")).toBe("sms:0170123?&body=x");
});

test("a save sends what was changed in the form and nothing else", () => {
  const before = { ...filled(null), name: "Ana", email: "ana@example.org", note: "no list" };
  expect(changedFields(before, { ...before })).toEqual({});
  expect(changedFields(before, { ...before, note: "", party_size: 3 })).toEqual({ note: null, party_size: 3 });
});
