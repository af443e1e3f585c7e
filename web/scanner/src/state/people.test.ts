import { expect, test } from "vitest";
import { canUndo, nameless, type People, personOf, withoutNames, withPerson } from "./people.ts";
import { base } from "./verdicts.fixture.ts";
import { title } from "./words.ts";

const EMPTY: People = new Map();

test("the history names the guest of a scan by the scan, and by the ticket where only that is known", () => {
  const people = withPerson(EMPTY, { ...base, name: "Ana Botha" });
  expect(personOf(people, { scan_id: "s1", ticket_id: null })).toEqual({ name: "Ana Botha", type: "general" });
  expect(personOf(people, { scan_id: "other", ticket_id: "t1" })?.name).toBe("Ana Botha");
  expect(personOf(people, { scan_id: "other", ticket_id: "t2" })).toBeNull();
});

test("the history calls a ticket outside its time as the verdict did, for that scan alone", () => {
  const early = { ...base, scan_id: "s-early", opened: false, screen: "wrong_time", reason: "not_yet_valid" } as const;
  const row = { scan_id: "s-early", ticket_id: "t1", kind: "entry", screen: "wrong_time", count: 0, opened: false } as const;
  const people = nameless(withPerson(EMPTY, early));
  expect(title(row, personOf(people, row)?.reason)).toBe("Too early");
  expect(title(row, "expired")).toBe("Too late");
  expect(personOf(people, { scan_id: "later", ticket_id: "t1" })?.reason).toBeUndefined();
  expect(title(row), "after a restart").toBe("Too early or too late");
  const unnamed = withPerson(EMPTY, { ...early, name: null, zone: null });
  expect(personOf(unnamed, row)?.reason).toBe("not_yet_valid");
});

test("where the gate allows names no more, only the ticket's type is left", () => {
  const people = nameless(withPerson(EMPTY, { ...base, name: "Ana Botha" }));
  expect(personOf(people, { scan_id: "s1", ticket_id: "t1" })).toEqual({ name: "", type: "general" });
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
