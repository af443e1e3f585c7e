import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Headcount, Screen, VerdictView } from "../../../shared/core/engine.ts";
import { signalOf } from "./signals.ts";
import { base } from "./verdicts.fixture.ts";
import { asksCount, faceOf, isSample, ofSameTicket, problemCause, readerFaultWords, spoken, title, wordsOf } from "./words.ts";

const source = readFileSync(new URL("../../../../crates/core/src/decide.rs", import.meta.url), "utf8");
const SCREENS = [...(/Screen \{([\s\S]*?)\n {4}\}/.exec(source)?.[1] ?? "").matchAll(/= "(\w+)"/g)].map((m) => m[1] as Screen);

test("the screens here are the screens of the core", () => {
  expect(SCREENS.length).toBeGreaterThanOrEqual(12);
});

describe.each(SCREENS)("screen %s", (screen) => {
  const verdict: VerdictView = { ...base, screen, opened: screen === "admit" || screen === "exit" };
  test("has a headline, a shape and a signal", () => {
    const words = wordsOf(verdict);
    expect(words.headline).not.toBe("");
    expect(words.shape).toBeTruthy();
    expect(signalOf(screen, 1).tones).toBeInstanceOf(Array);
    expect(title({ screen, kind: "entry", count: 1, opened: false })).not.toBe("");
  });
  test("a shut door never says Admit", () => {
    expect(wordsOf({ ...verdict, opened: false, count: 0 }).headline).not.toMatch(/^Admit/);
  });
});

test("an answered question looks like its answer", () => {
  const party: VerdictView = { ...base, screen: "admit_party", opened: false, count: 0, may_admit: 3, entry_limit: 4 };
  expect(faceOf(party)).toBe("admit_party");
  expect(faceOf({ ...party, opened: true, count: 2 })).toBe("admit");
  expect(faceOf({ ...party, screen: "admit" })).toBe("nobody");
  expect(faceOf({ ...party, screen: "full", may_admit: 1, opened: true })).toBe("admit");
  expect(faceOf({ ...base, screen: "already_in", opened: true, overridden: true })).toBe("admit");
});

test("go and stop sound apart: rising against falling", () => {
  const pitches = (screen: Screen) => signalOf(screen, 1).tones.flatMap((tone) => [tone.from, tone.to]);
  const [admit, refuse] = [pitches("admit"), pitches("refuse")];
  expect(admit.at(-1)).toBeGreaterThan(admit[0] ?? 0);
  expect(refuse.at(-1)).toBeLessThan(refuse[0] ?? 0);
});

test("a party sounds one tick a person, four at most", () => {
  const ticks = (may_admit: number) => signalOf("admit_party", may_admit).tones.length - 2;
  expect([ticks(2), ticks(4), ticks(9)]).toEqual([2, 4, 4]);
});

test("an unknown code is never called invalid: the list is named", () => {
  const words = wordsOf({ ...base, screen: "not_in_list", opened: false });
  expect(words.lines[0]).toMatch(/Not in this device's list \(version 7, .*\)/);
  expect(JSON.stringify(words).toLowerCase()).not.toContain("invalid");
});

test("of an unknown code that the server was asked about no list is named", () => {
  const words = wordsOf({ ...base, screen: "not_in_list", opened: false, decided_by: "server" });
  expect([words.headline, ...words.lines]).toEqual(["Unknown ticket", "The server does not know this ticket either."]);
});

test("a party's question says how many are left", () => {
  const party: VerdictView = { ...base, screen: "admit_party", opened: false, count: 0, may_admit: 3, entry_limit: 4, already_in: 1 };
  expect(wordsOf(party)).toMatchObject({ headline: "How many?", party: "3 left", lines: ["1 already in"] });
  expect(wordsOf({ ...party, opened: true, count: 2 })).toMatchObject({ headline: "Admit 2", party: "3 of 4" });
});

test("the age of a repeat goes on while it is shown", () => {
  const repeat: VerdictView = { ...base, screen: "same_ticket", scan_id: null, same_ticket_ms: 6000 };
  expect(wordsOf(repeat).headline).toBe("Same ticket, 6 s ago");
  expect(wordsOf(repeat, Date.parse(repeat.at) + 60_000).headline).toBe("Same ticket, 1 min ago");
});

test("a duplicate says where, when and on which device", () => {
  const last_entry = { at: "2026-06-07T19:38:00Z", gate: "North", device_id: "d-12345678-x", device: "", own: false };
  const lines = wordsOf({ ...base, screen: "already_in", opened: false, last_entry }, Date.parse("2026-06-07T19:42:00Z")).lines.join(" ");
  expect(lines).toContain("North");
  expect(lines).toContain("4 min ago");
  expect(lines).toContain("d-123456");
  const named = { ...last_entry, device: "North 2" };
  expect(wordsOf({ ...base, screen: "already_in", opened: false, last_entry: named }, Date.parse("2026-06-07T19:42:00Z")).lines).toContain("Scanned on North 2");
});

test("the wrong gate names the right one", () => {
  expect(wordsOf({ ...base, opened: false, screen: "wrong_place", right_gates: ["C", "D"] }).headline).toBe("Wrong gate: go to C");
  expect(wordsOf({ ...base, opened: false, screen: "wrong_place", right_gates: [] }).headline).toBe("Wrong gate");
});

test("too early and too late are told apart", () => {
  const ended = wordsOf({ ...base, opened: false, screen: "ended", outcome: "expired", reason: "event_ended" });
  expect([ended.headline, ended.next]).toEqual(["The event has ended", "Ask a supervisor before you let anybody in."]);
  const early = wordsOf({ ...base, opened: false, screen: "wrong_time", reason: "not_yet_valid", valid_from: "2026-06-08T10:00:00Z" });
  const late = wordsOf({ ...base, opened: false, screen: "wrong_time", reason: "expired", expires_at: "2026-06-06T10:00:00Z" });
  expect(early.lines[0]).toMatch(/^Valid from .*8 June/);
  expect(late.lines[0]).toMatch(/^Was valid until .*6 June/);
});

test("the announcement carries verdict, party and name", () => {
  expect(spoken({ ...base, count: 2, entry_limit: 4, name: "Amélie Brânză" })).toBe("Admit 2, 2 of 4, Amélie Brânză");
});

test("a guest's flag is said on every verdict, in the headline or beside it", () => {
  const check: VerdictView = { ...base, screen: "check", opened: false, count: 0, flag: "Check ID" };
  for (const [flag, headline] of [["ID", "Check ID"], ["passport", "Check passport"], ["Photo ID", "Check photo ID"], ["Ask for the voucher", "Ask for the voucher"], ["Unpaid", "Check: Unpaid"]] as const) {
    expect(wordsOf({ ...check, flag })).toMatchObject({ headline, flag: null });
  }
  expect(wordsOf({ ...check, screen: "full", flag: "ID" }).flag).toBe("Check ID");
  expect(wordsOf(check)).toMatchObject({ headline: "Check ID", flag: null });
  expect(wordsOf({ ...check, screen: "full" })).toMatchObject({ headline: "Area full", flag: "Check ID" });
  expect(spoken({ ...base, name: "Ana", fields: [{ label: "Table", value: "7" }] })).toBe("Admit, Ana, Table: 7");
  expect(spoken({ ...check, screen: "full", name: "Max" })).toBe("Area full, Check ID, Hold the queue., Max");
  expect(wordsOf({ ...check, screen: "full", opened: true, count: 1 })).toMatchObject({ headline: "Admit", flag: "Check ID" });
  expect(wordsOf({ ...base, screen: "refuse", opened: false, flag: "Unpaid" }).flag).toBe("Unpaid");
  expect(wordsOf({ ...base, screen: "already_in", opened: true, overridden: true, flag: "Unpaid" }).flag).toBe("Unpaid");
  for (const flag of [undefined, ""]) {
    const { flag: _, ...bare } = check;
    expect(wordsOf(flag === undefined ? bare : { ...check, flag })).toMatchObject({ headline: "Check the guest", flag: null });
  }
});

test("only an open question asks for a count", () => {
  const party: VerdictView = { ...base, screen: "admit_party", opened: false, count: 0, may_admit: 3, entry_limit: 4 };
  expect(asksCount(party)).toBe(true);
  expect(asksCount({ ...party, opened: true })).toBe(false);
  expect(asksCount({ ...party, screen: "already_in", may_admit: 0 })).toBe(false);
});

test("two verdicts are of one ticket by the ticket, of an unknown code by its short form", () => {
  const unknown = { ...base, ticket_id: null };
  expect(ofSameTicket(base, { ...base, short_code: "another" })).toBe(true);
  expect(ofSameTicket(base, { ...base, ticket_id: "t2" })).toBe(false);
  expect(ofSameTicket(base, unknown)).toBe(false);
  expect(ofSameTicket(unknown, unknown)).toBe(true);
  expect(ofSameTicket({ ...unknown, short_code: "" }, { ...unknown, short_code: "" })).toBe(false);
});

test.each([
  [{ reason: "failing", error: "Aborted()" }, "Codes cannot be read by camera: the code reader fails (Aborted()). Close the app and open it again."],
  [{ reason: "no_surface", error: "" }, "Codes cannot be read by camera: this browser gives no drawing surface to a worker. Update it, or use a hardware scanner."],
] as const)("a reader that fails says what to do: %o", (fault, text) => {
  expect(readerFaultWords(fault)).toBe(text);
});

test("a reason that is a name of every object is no known reason", () => {
  expect(wordsOf({ ...base, screen: "refuse", opened: false, reason: "constructor" }).lines).toEqual(["constructor"]);
});

test("a problem without a text of its own still says the server's word", () => {
  expect(problemCause("seq_out_of_range")).toContain("seq out of range");
});

test("a full area says how many places are left of how many that are asked", () => {
  const full = (places_left: number) => wordsOf({ ...base, opened: false, screen: "full", entry_limit: 3, may_admit: 3, places_left }).lines;
  expect([full(0), full(1), full(2)]).toEqual([["Hold the queue."], ["1 place left, 3 asked."], ["2 places left, 3 asked."]]);
});

test("before a nearly full room no number is read as its places", () => {
  const party: VerdictView = { ...base, opened: false, count: 0, screen: "full", entry_limit: 3, may_admit: 3, places_left: 1 };
  expect(wordsOf(party)).toMatchObject({ headline: "Nearly full", party: null, lines: ["1 place left, 3 asked."] });
  expect(wordsOf({ ...party, places_left: 0 })).toMatchObject({ headline: "Area full", party: null });
});

test("the sample of the check before doors is told from a draft's ticket, and both from a ticket that counts", () => {
  expect([{ ...base, practice: true, scan_id: null }, { ...base, practice: true }, { ...base, scan_id: null }, { ...base, practice: true, scan_id: null, screen: "not_a_ticket" as const }].map(isSample)).toEqual([true, false, false, false]);
});

test("who was let in today hears that the next entry is tomorrow's", () => {
  const again = wordsOf({ ...base, opened: false, screen: "already_in", outcome: "duplicate", reason: "already_today" });
  expect(again.lines).toContain("One entry a day: the next one is tomorrow.");
});

test("a past headcount says who came or went, or how many were inside", () => {
  const row = (headcount: Headcount) => title({ screen: "admit", kind: "headcount", count: 1, opened: true, headcount });
  expect(row({ change: { class: "crew", delta: 10 } })).toBe("Crew +10");
  expect(row({ change: { class: "child", delta: -2 } })).toBe("Children −2");
  expect(row({ recount: { inside: 412 } })).toBe("Recount: 412 inside");
});
