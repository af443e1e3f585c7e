import { expect, test } from "vitest";
import { readiness } from "./readiness.ts";

const phone = (name: string, manifest_version: number, clock_offset_ms: number | null = 0, state: "active" | "revoked" = "active") => ({ name, manifest_version, clock_offset_ms, state });
const none = { waiting: 0, refused: 0, sent: 0 };
const told = (...args: Parameters<typeof readiness>) => readiness(...args).map(({ id, done, why }) => [id, done, why]);
const live = { status: "live" } as const;

test("without a phone and without a mail there is nothing to say", () => {
  expect(readiness(live, [phone("Gone", 3, 0, "revoked")], none)).toEqual([]);
});

test("phones that hold an older list, or none, are named", () => {
  expect(told(live, [phone("Main 1", 8), phone("Main 2", 8)], none)[0]).toEqual(["lists", true, "2 phones hold the same list"]);
  expect(told(live, [phone("Main 1", 8), phone("Main 2", 7), phone("Main 3", 0)], none)[0]).toEqual([
    "lists", false, "Main 3 holds no list yet. Main 2 holds an older list: bring it online.",
  ]);
  const many = ["A", "B", "C", "D", "E"].map((name) => phone(name, 1));
  expect(told(live, [phone("Main 1", 2), ...many], none)[0]?.[2]).toBe("A, B, C and 2 more hold an older list: bring them online.");
});

test("clocks that are off by more than two seconds are named with how far", () => {
  expect(told(live, [phone("Main 1", 1, 1_900), phone("Main 2", 1, null)], none)[1]).toEqual(["clocks", true, "1 phone is within 2 s; 1 has not said its time"]);
  expect(told(live, [phone("Main 1", 1, -40_000), phone("Main 2", 1)], none)[1]).toEqual(["clocks", false, "Main 1 is 40.0 s fast. Scans are put in order all the same: set the time."]);
  expect(told(live, [phone("Main 1", 1, null)], none)[1]).toEqual(["clocks", true, "No phone has said its time yet"]);
});

test("mails of a draft wait for its doors, those of an open event for a person", () => {
  const passes = { waiting: 12, refused: 0, sent: 3 };
  expect(told({ status: "draft" }, [], passes)).toEqual([["mails", true, "12 passes go out once the doors are open · 3 sent"]]);
  expect(told(live, [], { ...passes, refused: 1 })).toEqual([["mails", false, "1 refused · 12 passes wait · 3 sent"]]);
});
