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
  expect(told(moment({ what: "changed", fields: ["party_size", "note"], by: "Ana" }))).toBe("Changed by Ana: party size, note");
  expect(told(moment({ persons: 3, gate: "North", device: "N1", by_hand: true, by: "Sam" }))).toBe(
    "Let in 3 persons at North (N1), found by name by Sam",
  );
  expect(told(moment({ what: "refused", outcome: "duplicate", gate: "North" }))).toBe("Refused at North: already in");
  expect(told(moment({ what: "entered", counts: false }))).toBe("Let in 1 person, not counted");
  expect(told(moment({ what: "undone", device: "N1" }))).toBe("Scan undone (N1)");
  expect(told(moment({ what: "resent", by: "Ana" }))).toBe("Pass sent again by Ana");
  expect(told(moment({ what: "remade", by: "Ana" }))).toBe("Pass made again by Ana. There is no e-mail address, so nothing was sent");
  expect(told(moment({ what: "opened" }))).toBe("Pass opened for the first time");
  expect(told(moment({ what: "row_deleted" }))).toContain("stays valid");
});

test("where a guest stands", () => {
  const guest = (change: Partial<GuestView & { inside: number }>) =>
    ({ status: "pending", ticket_status: "active", party_size: 1, actual_count: 0, mail: null, ...change }) as GuestView & { inside: number };
  const standing = (one: GuestView) => standingAt(one, { re_entry: "never" }).words;
  expect(standingAt(guest({}), { re_entry: "never" })).toEqual({ words: "Expected", tone: "plain" });
  expect(standing(guest({ status: "no_show" }))).toBe("Did not come");
  expect(standingAt(guest({ status: "checked_in", actual_count: 1 }), { re_entry: "never" })).toEqual({ words: "Inside", tone: "ok" });
  expect(standing(guest({ status: "checked_in", party_size: 4, actual_count: 3 }))).toBe("3 of 4 in");
  expect(standing(guest({ ticket_status: null }))).toBe("Expected");
  // A guest with a void ticket is neither expected nor a no-show.
  expect(standing(guest({ ticket_status: "voided" }))).toBe("Voided");
  expect(standing(guest({ status: "no_show", ticket_status: "refunded" }))).toBe("Refunded");
  expect(standing(guest({ status: "checked_in", actual_count: 1, ticket_status: "voided" }))).toBe("Voided");
  // Nobody is inside an event that is over.
  const after = (change: Partial<GuestView>) => standingAt(guest({ status: "checked_in", ...change }), { re_entry: "never", status: "ended" });
  expect(after({ actual_count: 1 })).toEqual({ words: "Came", tone: "plain" });
  expect(after({ party_size: 4, actual_count: 3 }).words).toBe("3 of 4 came");
  // With re-entry, the text counts entries, not persons.
  expect(standingAt(guest({ status: "checked_in", party_size: 2, actual_count: 3, inside: 1 }), { re_entry: "after_exit" }).words).toBe("3 entries for 2");
  expect(standingAt(guest({ status: "checked_in", actual_count: 2, inside: 0 }), { re_entry: "after_exit" }).words).toBe("Left");
  // For a guest who is still to come, the text is about their pass.
  const mail = (state: "sent" | "waiting" | "not_sent", why: string | null) => standingAt(guest({ mail: { state, why, at: null } }), { re_entry: "never" });
  expect(mail("sent", null)).toEqual({ words: "Pass sent", tone: "plain" });
  expect(mail("not_sent", "no such user")).toEqual({ words: "Mail refused", tone: "warn" });
  expect(mail("not_sent", "no e-mail address")).toEqual({ words: "No e-mail", tone: "plain" });
});

test("how the mail of a pass stands", () => {
  const mail = (state: "sent" | "waiting" | "not_sent", why: string | null = null, at: string | null = null) => mailWords({ mail: { state, why, at } }, () => "at 19:12");
  expect(mailWords({ mail: null }, String)).toBe("");
  expect(mail("sent", null, "2026-06-07T18:00:00Z")).toBe("Sent by e-mail at 19:12");
  expect(mail("waiting")).toBe("Waits to be sent");
  expect(mail("waiting", "the mail server takes too long")).toBe("Waits to be sent: the mail server takes too long");
  expect(mail("not_sent", "no such user")).toBe("Not sent: no such user");
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
  const own = (...fields: [string, string][]) => ({ ...before, fields: JSON.stringify(fields) });
  const was = own(["Table", "7"], ["Company", "ACME"], ["Diet", "vegan"]);
  expect(changedFields(was, own(["Table", "8"], ["Company", " "], ["Diet", "vegan"], [" Hat ", " red "], ["", "x"]))).toEqual({
    fields: { Company: null, Table: "8", Hat: "red" },
  });
  expect(changedFields(was, own(["Seat", "7"], ["Company", "ACME"], ["Diet", "vegan"]))).toEqual({ fields: { Table: null, Seat: "7" } });
  expect(changedFields(before, { ...before, note: "", party_size: 3 })).toEqual({ note: null, party_size: 3 });
});
