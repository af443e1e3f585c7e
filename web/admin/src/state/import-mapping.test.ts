import { expect, test } from "vitest";
import type { ImportColumn, ImportQuestion, ImportResult } from "../../../shared/api/types";
import { answerTo, type Asked, field, fieldName, groupsFor, kindOf, meaningOf, openOf, questionsOf, readAnew, withAnswer, withColumn } from "./import-mapping";

const column = (header: string, becomes: string | null, by: ImportColumn["by"]): ImportColumn => ({ header, samples: [], becomes, by });
const asks = (...questions: Partial<ImportQuestion>[]): ImportResult =>
  ({ questions: questions.map((one) => ({ kind: "status", about: null, message: "", line: 2, rows: 1, ...one })) }) as unknown as ImportResult;

test("a meaning belongs to one column: what a person said of another is taken back, what was guessed is the server's", () => {
  let mapping = withColumn({}, 0, "name");
  mapping = withColumn(mapping, 2, "email");
  mapping = withColumn(mapping, 1, "name");
  expect(mapping.columns).toEqual({ "#1": "ignore", "#2": "name", "#3": "email" });
  // Two columns may be ignored.
  expect(withColumn(mapping, 2, "ignore").columns).toEqual({ "#1": "ignore", "#2": "name", "#3": "ignore" });
});

test("several columns may be fields, each with a name of its own", () => {
  const mapping = withColumn(withColumn({}, 0, "field"), 1, "field");
  expect(mapping.columns).toEqual({ "#1": "field", "#2": "field" });
  expect([kindOf("field:Table"), kindOf("field"), kindOf("name")]).toEqual(["field", "field", "name"]);
  expect([fieldName("field:Table", "Tisch"), fieldName("field", " What do you want to eat with us? ")]).toEqual(["Table", "What do you want to eat"]);
  expect([field(" Table "), field(" ")]).toEqual(["field:Table", "field"]);
});

test("what was said stands at once, also before the server has answered", () => {
  expect(meaningOf({}, 0, column("a", null, "nothing"))).toBe("ignore");
  expect(meaningOf({}, 0, column("a", "email", "guess"))).toBe("email");
  expect(meaningOf({ columns: { "#1": "note" } }, 0, column("a", "email", "guess"))).toBe("note");
});

test("questions of one kind with one answer are asked once, and an answered one stays with its answer", () => {
  const first = asks(
    { about: "Transferred", rows: 3, line: 12 },
    { kind: "empty_words_in_names", about: "NULL", rows: 1, line: 9 },
    { kind: "empty_words_in_names", about: "None", rows: 2, line: 5 },
    { kind: "missing_codes", rows: 4 },
  );
  const asked = questionsOf([], first, {});
  expect(asked.map((one) => [one.key, one.about, one.line, one.rows])).toEqual([
    ["status Transferred", ["Transferred"], 12, 3],
    ["empty_words_in_names", ["NULL", "None"], 5, 3],
    ["missing_codes", [], 2, 4],
  ]);
  const [status, words] = asked as [Asked, Asked, Asked];
  let mapping = withAnswer({}, status, "voided");
  mapping = withAnswer(mapping, words, "empty");
  expect(mapping).toEqual({ statuses: { Transferred: "voided" }, empty_words_in_names: "empty" });
  expect(openOf(asked, mapping)).toBe(1);
  // The server no longer asks about the first two. With other columns no row lacks a code.
  const then = questionsOf(asked, asks({ about: "Pending?", rows: 1 }), mapping);
  expect(then.map((one) => [one.key, answerTo(mapping, one)])).toEqual([
    ["status Transferred", "voided"],
    ["empty_words_in_names", "empty"],
    ["status Pending?", null],
  ]);
  expect(then[0]?.rows).toBe(3);
});

test("every answer is one that the server takes", () => {
  expect(withAnswer({ statuses: { A: "active" } }, { kind: "status", about: ["B"] }, "active").statuses).toEqual({ A: "active", B: "active" });
  expect(withAnswer({}, { kind: "day_first", about: ["11/12/2026"] }, "false")).toEqual({ day_first: false });
  expect(answerTo({ day_first: false }, { kind: "day_first", about: [] })).toBe("false");
  expect(withAnswer({}, { kind: "missing_codes", about: [] }, "leave_out")).toEqual({ missing_codes: "leave_out" });
});

test("another sheet has other columns; answers about words stay", () => {
  expect(readAnew({ columns: { "#1": "name" }, statuses: { x: "voided" }, sheet: "A" }, { sheet: "B" })).toEqual({ statuses: { x: "voided" }, sheet: "B" });
});

test("a promoter's file names persons and who stays out, and neither codes, types, times nor gates", () => {
  const all = (promoter: boolean) => groupsFor(promoter).flatMap((group) => group.meanings);
  expect(all(false)).toHaveLength(21);
  expect(all(true)).toEqual(["name", "first_name", "last_name", "email", "other_email", "phone", "party_size", "note", "status", "order_id", "position", "external_id"]);
});
