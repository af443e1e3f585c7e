import { expect, test } from "vitest";
import { admitsAt, entriesOf, gatesOf, gatesOfTicket, typeOf } from "./entry-types.ts";

const gates = [
  { id: "main", name: "Main", zones: ["general", "vip"] },
  { id: "terrace", name: "Terrace", zones: ["vip"] },
];

test("a type and a ticket are told by the gates that admit them", () => {
  expect(gatesOf({ zone: "vip" }, gates)).toBe("Main and Terrace");
  expect(gatesOf({ zone: "crew" }, gates)).toBe("No gate admits it");
  expect(gatesOfTicket({ zone: "general", gate_ids: [] }, gates)).toBe("Main");
  expect(gatesOfTicket({ zone: "general", gate_ids: ["terrace", "gone"] }, gates)).toBe("Terrace and gone");
});

test("a ticket has its type's name where one type alone has its zone", () => {
  const types = [{ name: "VIP", zone: "vip" }, { name: "Early", zone: "general" }, { name: "Late", zone: "general" }];
  expect(typeOf({ zone: "vip" }, types)).toBe("VIP");
  expect(typeOf({ zone: "general" }, types)).toBe("general");
  expect(typeOf({ zone: "crew" }, types)).toBe("crew");
});

test("how often a type's guests may enter is said where it is not as the event has it", () => {
  expect(entriesOf({ re_entry: null, per_gate: false, uses: null })).toBe("As the event");
  expect(entriesOf({ re_entry: "daily", per_gate: true, uses: 3 })).toBe("Once a day, at each gate, 3 in all");
});

test("a ticket is admitted at the gates that it names, else where its zone is", () => {
  const [north, vip] = [{ id: "north", zones: ["general"] }, { id: "vip", zones: ["vip"] }];
  expect(admitsAt(north, { zone: "general", gate_ids: [] })).toBe(true);
  expect(admitsAt(vip, { zone: "general", gate_ids: [] })).toBe(false);
  expect(admitsAt(vip, { zone: "general", gate_ids: ["vip"] })).toBe(true);
  expect(admitsAt(north, { zone: "general", gate_ids: ["vip"] })).toBe(false);
});
