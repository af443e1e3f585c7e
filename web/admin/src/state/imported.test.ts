import { expect, test } from "vitest";
import type { ImportResult } from "../../../shared/api/types";
import { keptWords, unknownWords } from "./imported.ts";

const result = (change: Partial<ImportResult>): ImportResult => ({
  created: 0, updated: 0, unchanged: 0, kept: 0, unknown_types: [], left_out: 0, wrong_lines: 0, errors: [],
  ignored_columns: [], dry_run: false, export: "pretix", ...change,
});
const shirts = { unknown_types: [{ name: "T-shirt", rows: 3 }, { name: "Parking", rows: 1 }] };

test("what a person voided is said to stay so", () => {
  expect(keptWords(result({}))).toBe("");
  expect(keptWords(result({ kept: 1 }))).toBe("1 ticket that the file calls valid stays voided or refunded: somebody here decided so.");
  expect(keptWords(result({ kept: 2 }))).toContain("2 tickets that the file calls valid stay voided");
  expect(keptWords(result({ kept: 2, dry_run: true }))).toContain("would stay voided");
});

test("products that are no entry types are named, with what becomes of their rows", () => {
  expect(unknownWords(result({}))).toBe("");
  expect(unknownWords(result(shirts))).toBe(
    "No entry type of this event is called: T-shirt (3 rows), Parking (1 row). Their rows have the event's first entry type.",
  );
  expect(unknownWords(result({ ...shirts, dry_run: true }))).toContain("Their rows would get the event's first entry type.");
  expect(unknownWords(result({ ...shirts, left_out: 4 }))).toContain("Parking (1 row). 4 rows were left out.");
  expect(unknownWords(result({ ...shirts, left_out: 1, dry_run: true }))).toContain("1 row would be left out.");
});
