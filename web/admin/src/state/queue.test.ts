import { expect, test } from "vitest";
import { settledElsewhere, steady } from "./queue.ts";

const cases = (text: string) => [...text].map((id) => ({ id }));
const told = (seen: string, open: string): string => {
  const { shown, fresh } = steady([...seen], cases(open));
  return `${shown.map((one) => one.id).join("")}|${fresh.map((one) => one.id).join("")}`;
};

test("what is new waits where it would move what is seen, and is appended where it would not", () => {
  for (const [seen, open, becomes] of [
    ["", "abc", "abc|"],
    ["abc", "abc", "abc|"],
    ["abc", "nabc", "abc|n"],
    ["abc", "anbmc", "abc|nm"],
    ["abc", "abcn", "abcn|"],
    ["abc", "nabcm", "abcm|n"],
    // A case that was decided elsewhere is gone. The others keep their order.
    ["abc", "ac", "ac|"],
    // A case that became more severe keeps its place while it is shown.
    ["abc", "cab", "abc|"],
    // No shown case is left, so the new ones are shown at once.
    ["abc", "nm", "nm|"],
  ] as const) {
    expect(told(seen, open), `${seen} → ${open}`).toBe(becomes);
  }
});

test("what a colleague settles keeps its place until the list is looked at anew", () => {
  const cases = (...ids: string[]) => ids.map((id) => ({ id }));
  const before = cases("a", "b", "c");
  const gone = settledElsewhere(before, cases("a", "c"), new Set());
  expect(gone).toEqual(cases("b"));
  expect(settledElsewhere(before, cases("c"), new Set(["a"]))).toEqual(cases("b"));
  expect(steady(["a", "b", "c"], cases("a", "c"), gone).shown).toEqual(before);
  expect(steady(["a", "b", "c"], cases("a", "c")).shown).toEqual(cases("a", "c"));
});
