import { expect, test } from "vitest";
import { steady } from "./queue.ts";

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
    // Decided elsewhere: the rest stays in its order.
    ["abc", "ac", "ac|"],
    // A case that became graver stays where it is looked at.
    ["abc", "cab", "abc|"],
    // Nothing of what was seen is left: what is new is all there is.
    ["abc", "nm", "nm|"],
  ] as const) {
    expect(told(seen, open), `${seen} → ${open}`).toBe(becomes);
  }
});
