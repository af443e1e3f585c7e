import { expect, test } from "vitest";
import { bookingTargets, canUndo, codeLabel, forgetPeople, keepPeople, keptPeople, nameless, type People, personOf, undoTargetOf, withoutNames, withPerson } from "./people.ts";
import { base } from "./verdicts.fixture.ts";

const EMPTY: People = new Map();

test("the history names the guest of a scan by the scan, and by the ticket where only that is known", () => {
  const people = withPerson(EMPTY, { ...base, name: "Ana Botha" });
  expect(personOf(people, { scan_id: "s1", ticket_id: null })).toEqual({ name: "Ana Botha", type: "general", code: "" });
  expect(personOf(people, { scan_id: "other", ticket_id: "t1" })?.name).toBe("Ana Botha");
  expect(personOf(people, { scan_id: "other", ticket_id: "t2" })).toBeNull();
});

test("where the gate allows names no more, only the ticket's type is left", () => {
  const people = nameless(withPerson(EMPTY, { ...base, name: "Ana Botha" }));
  expect(personOf(people, { scan_id: "s1", ticket_id: "t1" })).toEqual({ name: "", type: "general", code: "" });
});

test.each([
  // A pass shows only the short code. A ticket of another system may have a code of the same form.
  ["4b1c7d7e-8b1c-4f5e-9a10-0123456789ab", "K7QF-2M9D (…\u206089ab)"],
  // Admit makes none of these codes: capitals, no hyphens, another version of UUID.
  ["4B1C7D7E-8B1C-4F5E-9A10-0123456789AB", "…\u206089AB"],
  ["4b1c7d7e8b1c4f5e9a100123456789ab", "…\u206089ab"],
  ["4b1c7d7e-8b1c-1f5e-9a10-0123456789ab", "…\u206089ab"],
  ["TICKET-0042", "…\u20600042"],
  [" ab1 ", "ab1"],
  ["", ""],
])("of the code %j the history shows %j: what is on the guest's ticket", (code, label) => {
  expect(codeLabel(code, "K7QF-2M9D")).toBe(label);
});

test("the code that was read stays with its scan when a question about it is answered", () => {
  const asked = withPerson(EMPTY, { ...base, opened: false }, "TICKET-0042");
  expect(personOf(withPerson(asked, base), { scan_id: "s1", ticket_id: null })?.code).toBe("…\u20600042");
  // A code that is not in the list has neither ticket nor type.
  const unknown = withPerson(EMPTY, { ...base, ticket_id: null, zone: null }, "TICKET-0043");
  expect(personOf(unknown, { scan_id: "s1", ticket_id: null })).toEqual({ name: "", type: "", code: "…\u20600043" });
});

test("a later start knows type and code of the scans in the history, and no name", () => {
  const kept = new Map<string, string>();
  const storage = () => ({ getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, text: string) => void kept.set(key, text), removeItem: (key: string) => void kept.delete(key) });
  let people = withPerson(EMPTY, { ...base, name: "Ana Botha" }, "TICKET-0042");
  people = withPerson(people, { ...base, scan_id: "gone", ticket_id: "t9" }, "TICKET-0043");
  keepPeople(people, [{ scan_id: "s1" }, { scan_id: "never-shown" }], storage);
  expect([...kept.values()].join()).not.toContain("Ana");
  expect([...keptPeople(storage)]).toEqual([["s1", { name: "", type: "general", code: "…\u20600042" }]]);
  for (const damaged of ["{", "{}", '[["s1"],["s2","general",7],null]']) {
    for (const key of kept.keys()) kept.set(key, damaged);
    expect(keptPeople(storage).size).toBe(0);
  }
  forgetPeople(storage);
  expect(kept.size).toBe(0);
  const blocked = () => {
    throw new Error("site data is blocked");
  };
  keepPeople(people, [], blocked);
  forgetPeople(blocked);
  expect(keptPeople(blocked).size).toBe(0);
});

test("a booking let in at once has an Undo of each guest, and none that would take the last one back alone", () => {
  const row = { kind: "entry", screen: "admit", at: "", count: 1, opened: true, overridden: false, reverted: 0, short_code: "", sync: "sent" } as const;
  const history = [{ ...row, scan_id: "s2", ticket_id: "t2" }, { ...row, scan_id: "s1", ticket_id: "t1", reverted: 1 }, { ...row, scan_id: "s3", ticket_id: "t3" }];
  const became = ["s3", "s1", "s2"].map((scan_id, n) => ({ ticket_id: `t${n}`, name: null, zone: "general", persons: 1, scan_id }));
  const verdict = { ...base, scan_id: "s2", booking: { others: [], already_in: 0, by_themselves: 0, became } };
  expect(undoTargetOf(verdict, history)).toBeNull();
  expect(bookingTargets(verdict, history).map((one) => one.scan_id)).toEqual(["s3", "s2"]);
  expect(bookingTargets(base, history)).toEqual([]);
});

test("a long evening keeps the last hundred", () => {
  let people = EMPTY;
  for (let n = 0; n < 300; n += 1) people = withPerson(people, { ...base, scan_id: `s${n}`, ticket_id: `t${n}`, name: `G ${n}` });
  expect(people.size).toBe(200);
  expect(personOf(people, { scan_id: "s0", ticket_id: "t0" })).toBeNull();
  expect(personOf(people, { scan_id: "s299", ticket_id: null })?.name).toBe("G 299");
});

test("only what let somebody in, and is not undone whole, can be undone", () => {
  const row = { scan_id: "s", kind: "entry", screen: "admit", at: "", count: 2, opened: true, overridden: false, reverted: 0, short_code: "", ticket_id: null, sync: "sent" } as const;
  expect([row, { ...row, reverted: 1 }, { ...row, reverted: 2 }, { ...row, opened: false }, { ...row, kind: "revert" as const }].map(canUndo)).toEqual([true, true, false, false, false]);
});

test("a gate that carries no names any more leaves nothing of a guest on the screen", () => {
  const other = { ticket_id: "t-2", name: "Ben", zone: "general", persons: 1 };
  const booking = { others: [other], already_in: 0, by_themselves: 0, became: [{ ...other, scan_id: "s-2" }] };
  const verdict = { ...base, name: "Ada", note: "Back door", flag: "ID", fields: [{ label: "Table", value: "Ada's 7" }], booking };
  expect(JSON.stringify(withoutNames(verdict))).not.toMatch(/Ada|Ben|Back door|ID|Table/);
});
