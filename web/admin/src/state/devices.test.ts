import { expect, test } from "vitest";
import { clockWords, found, gaps, inOrder, standing, unknownGates, unstaffed } from "./devices.ts";

const now = Date.parse("2026-11-22T20:00:00Z");
const seen = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

test("a phone that is silent for more than two minutes is offline", () => {
  expect(standing({ state: "active", last_seen_at: seen(1) }, now)).toBe("online");
  expect(standing({ state: "active", last_seen_at: seen(14) }, now)).toBe("offline");
  expect(standing({ state: "active", last_seen_at: null }, now)).toBe("never");
  expect(standing({ state: "revoked", last_seen_at: seen(14) }, now)).toBe("revoked");
});

test("a clock is slow or fast by as much as it shows, and right below a tenth of a second", () => {
  expect(clockWords(null)).toBe("not known");
  expect([0, 40, -40].map(clockWords)).toEqual(["right", "right", "right"]);
  expect(clockWords(2_340)).toBe("2.3 s slow");
  expect(clockWords(-90_000)).toBe("90.0 s fast");
});

test("gaps in a log are said as ranges, the first four of them", () => {
  expect(gaps([[3, 3], [7, 9]])).toBe("3, 7–9");
  expect(gaps([[1, 1], [3, 3], [5, 5], [7, 7], [9, 9]])).toBe("1, 3, 5, 7 …");
});

test("a gate that is spoken of and not listed was made since", () => {
  const occupancy = { gates: [{ gate_id: "north" }, { gate_id: "late" }] };
  expect(unknownGates([{ id: "north" }], occupancy, [{ gate_id: "late" }, { gate_id: "later" }])).toEqual(["late", "later"]);
  expect(unknownGates([{ id: "north" }], null, [{ gate_id: "north" }])).toEqual([]);
});

test("phones stand by gate and name, are found by both, and a gate without one is told", () => {
  const gateName = (id: string): string => ({ a: "North", b: "Main" })[id] ?? id;
  const phones = [
    { name: "Phone 10", gate_id: "a", state: "active" },
    { name: "Phone 2", gate_id: "a", state: "active" },
    { name: "Zed", gate_id: "b", state: "revoked" },
  ] as const;
  expect(inOrder(phones, gateName).map((one) => one.name)).toEqual(["Zed", "Phone 2", "Phone 10"]);
  expect(phones.filter((one) => found(one, " north 2", gateName)).map((one) => one.name)).toEqual(["Phone 2"]);
  expect(phones.filter((one) => found(one, "", gateName))).toHaveLength(3);
  // A phone that was revoked admits nobody.
  expect(unstaffed([{ id: "a" }, { id: "b" }, { id: "c" }], phones).map((gate) => gate.id)).toEqual(["b", "c"]);
});
