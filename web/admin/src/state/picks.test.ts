import { expect, test } from "vitest";
import { Picks } from "./picks.svelte.ts";

const shown = [{ id: "a" }, { id: "b" }, { id: "c" }];

test("rows are ticked one by one, all shown, and not", () => {
  const picks = new Picks();
  picks.toggle("a", true, shown);
  picks.toggle("b", true, shown);
  picks.toggle("a", false, shown);
  expect([...picks.ids]).toEqual(["b"]);
  expect(picks.hasShown(shown)).toBe(false);
  picks.toggleShown(true, shown);
  expect(picks.hasShown(shown)).toBe(true);
  picks.toggleShown(false, shown);
  expect(picks.any).toBe(false);
  expect(picks.hasShown([])).toBe(false);
});

test("where everything found is ticked, one row less leaves those that are shown", () => {
  const picks = new Picks();
  picks.toggle("a", true, shown);
  picks.takeAll();
  expect(picks.has("never shown")).toBe(true);
  picks.toggle("c", false, shown);
  expect([picks.all, [...picks.ids]]).toEqual([false, ["a", "b"]]);
  picks.clear();
  expect(picks.any).toBe(false);
});
