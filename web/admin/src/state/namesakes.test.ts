import { expect, test } from "vitest";
import { tellApart, undecided } from "./namesakes.ts";

const guest = (id: string, name: string, change: object = {}) => ({
  id, name, email: null, phone: null, order_id: null, guest_list: null, entry_type: null, external_id: null, ticket_id: null, ...change,
});
const told = (...guests: ReturnType<typeof guest>[]) => Object.fromEntries(tellApart(guests));

test("whose name nobody shares has nothing under it", () => {
  expect(told(guest("a", "Ana Costa", { email: "ana@example.org" }), guest("b", "Bo"))).toEqual({});
});

test("namesakes are told apart by the beginning of their e-mail, by all of it where the beginnings are equal", () => {
  expect(told(guest("a", "Ana Costa", { email: "ana@example.org" }), guest("b", "ana  costa", { email: "a.costa@example.org" }))).toEqual({ a: "ana@…", b: "a.costa@…" });
  expect(told(guest("a", "Ana", { email: "ana@one.example" }), guest("b", "Ana", { email: "ana@two.example" }))).toEqual({ a: "ana@one.example", b: "ana@two.example" });
});

test("without addresses, whoever may not see them too, by order, phone, list, type, reference or ticket", () => {
  expect(told(guest("a", "Ana", { order_id: "1001" }), guest("b", "Ana", { order_id: "1002" }))).toEqual({ a: "Order 1001", b: "Order 1002" });
  expect(told(guest("a", "Ana", { phone: "+49 170 1234567" }), guest("b", "Ana", { phone: "0170 7654321" }))).toEqual({ a: "Phone …4567", b: "Phone …4321" });
  expect(told(guest("a", "Ana", { guest_list: "Press", ticket_id: "t-0001" }), guest("b", "Ana", { guest_list: "Crew", ticket_id: "t-0002" }))).toEqual({ a: "Press", b: "Crew" });
  const alike = [guest("a", "Ana", { guest_list: "Press", ticket_id: "t1" }), guest("b", "Ana", { guest_list: "Press", ticket_id: "t2" })];
  expect(undecided(alike)).toEqual(["t1", "t2"]);
  expect(Object.fromEntries(tellApart(alike, { t1: "7F3K", t2: "Q2ZD" }))).toEqual({ a: "Ticket …7F3K", b: "Ticket …Q2ZD" });
  expect(undecided([guest("b", "Ana", { order_id: "4", ticket_id: "t1" }), guest("c", "Ana", { order_id: "5", ticket_id: "t2" })])).toEqual([]);
  // One of the guests has no sign of their own, because both have the same entry type.
  const mixed = [guest("a", "Ana", { entry_type: "General", ticket_id: "t1" }), guest("b", "Ana", { entry_type: "General", phone: "0170 7654321", ticket_id: "t2" })];
  expect([undecided(mixed), told(...mixed)]).toEqual([["t1", "t2"], { b: "Phone …4321" }]);
  expect(Object.fromEntries(tellApart(mixed, { t1: "7F3K" }))).toEqual({ a: "Ticket …7F3K", b: "Phone …4321" });
});

test("where no one kind tells all apart, each has a sign of its own", () => {
  const [a, b, c] = [guest("a", "Ana", { email: "ana@example.org" }), guest("b", "Ana", { order_id: "77" }), guest("c", "Ana", { order_id: "78", email: null })];
  expect(told(a, b, c)).toEqual({ a: "ana@…", b: "Order 77", c: "Order 78" });
  expect(told(guest("a", "Ana"), guest("b", "Ana"))).toEqual({});
});
