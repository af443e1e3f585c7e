import { expect, test } from "vitest";
import { CodeGate } from "./gate.ts";

test("a go gives way to the next code at once, a stop after one second or a tap", () => {
  const gate = new CodeGate();
  expect(gate.open(0)).toBe(true);
  gate.shown({ screen: "admit", opened: true }, 100);
  expect(gate.open(101)).toBe(true);
  gate.shown({ screen: "already_in", opened: false }, 200);
  expect(gate.open(1199)).toBe(false);
  expect(gate.open(1200)).toBe(true);
  gate.shown({ screen: "refuse", opened: false }, 2000);
  gate.cleared();
  expect(gate.open(2001)).toBe(true);
});

test("an open question holds every code until it is answered", () => {
  const gate = new CodeGate();
  gate.shown({ screen: "admit_party", opened: false }, 0);
  gate.hold(true);
  expect(gate.open(60_000)).toBe(false);
  gate.hold(false);
  expect(gate.open(60_000)).toBe(true);
});
