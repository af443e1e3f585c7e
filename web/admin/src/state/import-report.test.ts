import { expect, test } from "vitest";
import type { ImportResult } from "../../../shared/api/types";
import { aboutFile, bothWays, errorsCsv, errorWords, leftOutWords, noteOf, progressWords, rowDetail, rowsOf, wrongWords } from "./import-report";

const result = (over: Partial<ImportResult> = {}): ImportResult => ({
  import_id: null,
  dry_run: true,
  file: { format: "text", encoding: "UTF-8", delimiter: ",", sheet: null, other_sheets: [], preamble: [], rows: 1212 },
  export: "Luma",
  columns: [],
  mapping: {},
  created: 0,
  created_persons: 0,
  updated: 0,
  unchanged: 0,
  joined: 0,
  kept: 0,
  left_out: 0,
  left_out_because: [],
  new_entry_types: [],
  unknown_types: [],
  questions: [],
  asked: 0,
  wrong_lines: 0,
  damaged: 0,
  errors: [],
  to_mail: 0,
  mails: false,
  rows: [],
  ignored_columns: [],
  barcode_kinds: [],
  ...over,
});

test("a file is told by its name, rows, export and encoding, or by its sheet", () => {
  expect(aboutFile("luma-harbour.csv", result())).toBe("luma-harbour.csv · 1,212 rows · looks like a Luma export · UTF\u20118, commas");
  const book = { format: "workbook", encoding: null, delimiter: null, sheet: "Gäste", other_sheets: [], preamble: [], rows: 1 } as const;
  expect(aboutFile("a.xlsx", result({ export: null, file: { ...book, other_sheets: [] , preamble: []} }))).toBe("a.xlsx · 1 row · Excel, sheet “Gäste”");
  expect(aboutFile("a.csv", result({ export: "Eventbrite", file: { ...result().file, delimiter: "\u00a7" } }))).toContain("an Eventbrite export · UTF\u20118, columns end with “§”");
});

test("a status column says which words come in and which stay out; of guests who are here already only the latter", () => {
  const out = [
    { reason: "status" as const, about: "declined", rows: 71 },
    { reason: "total" as const, about: null, rows: 1 },
  ];
  const asked = [{ kind: "status" as const, about: "Transferred", message: "", line: 2, rows: 1 }];
  const samples = ["approved", "Declined", "Approved ", "Transferred", ""];
  const said = result({ left_out_because: out, questions: asked });
  expect(noteOf("status", samples, said)).toBe("approved comes in; declined stays out");
  expect(noteOf("status", samples, { ...said, unchanged: 1 })).toBe("declined stays out");
  expect(leftOutWords(said)).toBe("71 declined, 1 total line");
});

test("an entry type column says which types are new, and what becomes of those that the event lacks", () => {
  expect(noteOf("entry_type", [], result({ new_entry_types: ["Early bird", "Press"] }))).toBe("2 new types: Early bird and Press");
  expect(noteOf("entry_type", [], result({ unknown_types: [{ name: "T-shirt", rows: 4 }] }))).toContain("T-shirt is no type of this event");
  expect(noteOf("entry_type", [], result({ left_out_because: [{ reason: "entry_type", about: "T-shirt", rows: 4 }] }))).toBe("Rows of T-shirt stay out");
  expect(noteOf("name", ["Ana"], result())).toBe("");
});

test("lines with errors are named, and what a spreadsheet did is told with the way out", () => {
  const errors = [41, 41, 88, 112, 113].map((line) => ({ line, field: "barcode", message: "was damaged by a spreadsheet: 2.38E+13" }));
  expect(wrongWords(result({ wrong_lines: 4, damaged: 4, errors }))).toEqual({
    title: "4 damaged lines",
    text: "Lines 41, 88, 112 and 1 more: a spreadsheet damaged them. Export the list again, and import that file unopened",
  });
  expect(wrongWords(result({ wrong_lines: 4, damaged: 1, errors })).text).toBe("Lines 41, 88, 112 and 1 more. 1 of them was damaged by a spreadsheet");
  expect(wrongWords(result({ wrong_lines: 1, errors: errors.slice(0, 1) }))).toEqual({ title: "1 line with errors", text: "Line 41" });
});

test("an error is told by the column's name on the page, also where it names others", () => {
  expect(errorWords({ line: 4, field: "barcode", message: "this code was damaged by a spreadsheet: 2.38E+13" })).toBe("Code: this code was damaged by a spreadsheet: 2.38E+13.");
  expect(errorWords({ line: 4, field: "party_size", message: "must be a whole number" })).toBe("Party size must be a whole number.");
  expect(errorWords({ line: 4, field: "name", message: "is the same guest as in line 3: tell them apart by barcode, external_id or position" })).toContain("your reference or position");
  expect(errorWords({ line: 4, field: "line", message: "is about the same ticket as line 2" })).toBe("Line 4 is about the same ticket as line 2.");
});

test("the errors as a file: quoted, and no formula for the spreadsheet that opens it", () => {
  const file = errorsCsv([{ line: 4, field: "=HYPERLINK(\"x\")", message: "is, \"so\" to say,\nwrong" }]);
  expect(file).toBe('\u{feff}"Line","Column","What is wrong"\r\n"4","\'=HYPERLINK(""x"")","\'=HYPERLINK(""x"") is, ""so"" to say,\nwrong."\r\n');
});

test("an ambiguous day is shown both ways", () => {
  expect(bothWays("11/12/2026 18:00")).toEqual({ day: "11 December 2026", month: "12 November 2026" });
  expect(bothWays("3.4.26")).toEqual({ day: "3 April 2026", month: "4 March 2026" });
  expect(bothWays("soon")).toBeNull();
});

test("rows are picked by kind, and those that wait by their question", () => {
  const row = { line: 2, becomes: "asked" as const, name: "Ana", email: "ana@x.example", party_size: 2, entry_type: "VIP", barcode: null, why: "a" };
  const rows = [row, { ...row, line: 3, why: "b" }, { ...row, line: 4, becomes: "new" as const, why: null }];
  expect(rowsOf(result({ rows }), "asked").map((one) => one.line)).toEqual([2, 3]);
  expect(rowsOf(result({ rows }), "asked", ["b"]).map((one) => one.line)).toEqual([3]);
  expect(rowDetail(row)).toBe("ana@x.example · 2 persons · VIP");
});

test("progress is a share only where the stage has rows to count", () => {
  expect(progressWords(null)).toEqual({ text: "Reading the file", share: null });
  expect(progressWords({ key: "k", stage: "comparing", done: 500, of: 2000 })).toEqual({ text: "Comparing 500 of 2,000 rows", share: 0.25 });
  expect(progressWords({ key: "k", stage: "storing", done: 0, of: 0 }).share).toBeNull();
});
