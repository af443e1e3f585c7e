// A hardware scanner set to the computer's own layout gives the printed code as one set to US does.
import { expect, test } from "vitest";
import { Readings, withoutFixed } from "./readings.ts";

const us = { prefix: "", suffix: "", ownLayout: false };
const own = { ...us, ownLayout: true };

test("a code that both layouts read alike is handed in once", () => {
  const readings = new Readings();
  expect(readings.begin("12345", "12345", 1, us)).toBe("12345");
  expect(readings.judged(1, "not_in_list")).toEqual({ again: null, ownLayout: null });
});

test("the US reading comes first; where it is in no list, the other follows, and is first from then on", () => {
  const readings = new Readings();
  expect(readings.begin("QZERTZ", "AWERTY", 1, us)).toBe("QZERTZ");
  expect(readings.judged(1, "not_in_list")).toEqual({ again: "AWERTY", ownLayout: null });
  expect(readings.judged(1, "admit")).toEqual({ again: null, ownLayout: true });
  expect(readings.begin("QZERTZ", "AWERTY", 2, own)).toBe("AWERTY");
  expect(readings.judged(2, "refuse")).toEqual({ again: null, ownLayout: true });
});

test("another scanner, set to US, is learnt again", () => {
  const readings = new Readings();
  readings.begin("TICKET-1", "TICKETß1", 1, own);
  expect(readings.judged(1, "not_a_ticket").again).toBe("TICKET-1");
  expect(readings.judged(1, "already_in")).toEqual({ again: null, ownLayout: false });
});

test("a code that no reading finds is asked about twice, not for ever, and nothing is learnt of it", () => {
  const readings = new Readings();
  readings.begin("A", "Q", 1, us);
  expect(readings.judged(1, "not_in_list").again).toBe("Q");
  expect(readings.judged(1, "not_in_list")).toEqual({ again: null, ownLayout: null });
});

test("a verdict on another code (the camera's) tells nothing of this one", () => {
  const readings = new Readings();
  readings.begin("A", "Q", 1, us);
  expect(readings.judged(undefined, "not_in_list").again).toBeNull();
  expect(readings.judged(99, "not_in_list").again).toBeNull();
  expect(readings.judged(1, "not_in_list").again).toBe("Q");
});

test.each([
  ["~TICKET-1#", "~", "#", "TICKET-1"],
  ["TICKET-1", "~", "#", "TICKET-1"],
  ["~~", "~~", "", "~~"],
  ["~TICKET-1", "", "", "~TICKET-1"],
])("fixed text: %s without %s and %s is %s", (text, prefix, suffix, code) => {
  expect(withoutFixed(text, prefix, suffix)).toBe(code);
});
