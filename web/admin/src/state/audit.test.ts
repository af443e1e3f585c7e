import { expect, test } from "vitest";
import { actionsOf, whatOf, whoOf } from "./audit.ts";

const names = { u1: "Ines Harbour", u2: "Vera Lang", t1: "Badge printer" };
const line = (action: string, entity_id: string, user_id: string | null = "u1", device_id: string | null = null) => ({ action, entity_id, user_id, device_id });

test("a line says who did what, and to whom or what", () => {
  expect(whoOf(line("signed_in", "u1"), names, true)).toBe("Ines Harbour");
  expect(whatOf(line("signed_in", "u1"), names)).toBe("Signed in");
  expect(whatOf(line("member_updated", "u2"), names)).toBe("Changed a member's role · Vera Lang");
  expect(whatOf(line("api_token_revoked", "t1"), names)).toBe("Revoked an API token · Badge printer");
});

test("what has no name is told without its id, and a new word of the server in plain letters", () => {
  expect(whoOf(line("signed_in", "u9", "u9"), names, true)).toBe("A former member");
  expect(whoOf(line("signed_in", "u9", "u9"), {}, false)).toBe("–");
  expect(whoOf(line("key_rotated", "k", null), names, true)).toBe("The server");
  expect(whoOf(line("key_rotated", "k", null, "d"), names, true)).toBe("A phone");
  expect(whoOf(line("device_paired", "d", null, "d"), { d: "Main 1" }, true)).toBe("Main 1");
  expect(whatOf(line("device_paired", "d", null, "d"), { d: "Main 1" })).toBe("Paired");
  expect(whatOf(line("api_token_revoked", "t9"), names)).toBe("Revoked an API token");
  expect(whatOf(line("ledger_sealed", "x"), names)).toBe("Ledger sealed");
});

test("each ledger offers the actions that it can have, from A to Z", () => {
  const own = actionsOf("organisation").map(({ id }) => id);
  const events = actionsOf("event").map(({ id }) => id);
  expect(own).toContain("signed_in");
  expect(events).toContain("passes_resent");
  expect(own.filter((id) => events.includes(id))).toEqual([]);
  const names = actionsOf("event").map(({ name }) => name);
  expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b)));
  expect(new Set([...names, ...actionsOf("organisation").map(({ name }) => name)]).size).toBe(own.length + events.length);
});
