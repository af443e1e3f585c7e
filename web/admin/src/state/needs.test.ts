import { expect, test } from "vitest";
import type { DeviceView, Occupancy } from "../../../shared/api/types";
import { type Known, needs } from "./needs.ts";

const NOW = Date.parse("2026-11-27T18:31:00Z");
const phone = (change: Partial<DeviceView>): DeviceView =>
  ({ id: "d", name: "North 2", gate_id: "north", state: "active", last_seen_at: "2026-11-27T18:30:50Z", pending: 0, battery: 80, missing_count: 0, waiting: 0, code_reused_at: null, ...change }) as DeviceView;
const known = (change: Partial<Known>): Known => ({
  event: { status: "live", time_zone: "Europe/Berlin", ends_at: "2026-11-27T22:30:00Z" },
  occupancy: null,
  devices: [phone({})],
  devicesKnown: true,
  incidents: [],
  gates: [{ id: "north", name: "North gate" }],
  context: { zone: "Europe/Berlin", now: NOW, gate: () => "North gate", device: () => "North 2", fact: () => undefined },
  ...change,
});
const told = (change: Partial<Known>) => needs(known(change)).map((need) => [need.text, need.why]);

test("nothing is needed where all phones are heard", () => {
  expect(needs(known({}))).toEqual([]);
});

test("a silent phone says for how long, what it holds and where to go", () => {
  const silent = phone({ last_seen_at: "2026-11-27T18:20:00Z", pending: 24, battery: 31 });
  expect(told({ devices: [silent] })).toEqual([
    ["North 2 has been silent for 11 min", "North gate · about 24 scans not received · last seen 19:20 with 31 % battery"],
  ]);
  // After the event silent phones are normal.
  expect(told({ devices: [silent], event: { status: "ended", time_zone: "Europe/Berlin", ends_at: "2026-11-27T18:25:00Z" } })).toEqual([]);
});

test("where many phones are silent it is one thing, not one each", () => {
  const silent = Array.from({ length: 5 }, (_, at) => phone({ id: `d${at}`, name: `North ${at + 1}`, last_seen_at: "2026-11-27T18:20:00Z", pending: at }));
  expect(told({ devices: silent })).toEqual([
    ["5 phones have been silent for 11 min or more", "North 1, North 2, North 3 and 2 others · about 10 scans not received"],
  ]);
});

test("an empty battery, a suspension, missing scans and a code that was tried again are each said", () => {
  expect(told({ devices: [phone({ battery: 12 })] })[0]?.[0]).toBe("North 2 has 12 % battery");
  expect(told({ devices: [phone({ state: "suspended", waiting: 3 })] }).map(([text]) => text)).toEqual(["North 2 is suspended"]);
  expect(told({ devices: [phone({ missing_count: 1 })] })[0]?.[0]).toBe("1 scan of North 2 is missing");
  expect(told({ devices: [phone({ code_reused_at: "2026-11-27T18:00:00Z" })] })[0]?.[1]).toContain("31 min ago");
  expect(told({ devices: [] })[0]?.[0]).toBe("No phone is paired");
});

test("a gate without a phone is said, with the gate to pair at", () => {
  const gates = [{ id: "north", name: "North gate" }, { id: "vip", name: "VIP terrace" }];
  const found = needs(known({ gates }));
  expect(found.map((need) => [need.text, need.to.query])).toEqual([["No phone is paired at VIP terrace", "pair=vip"]]);
  expect(needs(known({ gates, event: { status: "draft", time_zone: "Europe/Berlin", ends_at: "2026-11-27T22:30:00Z" } }))).toEqual([]);
});

test("a full house is said before it is full", () => {
  const full = (inside: number) => told({ occupancy: { inside, capacity: 1_200 } as Occupancy })[0]?.[0];
  expect(full(1_100)).toBeUndefined();
  expect(full(1_150)).toBe("50 places are left");
  expect(full(1_200)).toBe("The capacity is reached");
});

test("doors that stand open beyond the event's end are said first, and no phone is asked for then", () => {
  const event = { status: "live" as const, time_zone: "Europe/Berlin", ends_at: "2026-11-20T22:30:00Z" };
  const found = needs(known({ event, devices: [] }));
  expect(found.map((need) => need.text)).toEqual(["The event's end passed at Fri 20 Nov, 23:30, and the doors are still open"]);
  expect(found[0]?.to.place).toBe("gates");
});
