/** A person's statements about a file of guests: the meaning of each column, and answers to questions. */
import type { ImportColumn, ImportMapping, ImportQuestion, ImportResult, QuestionKind } from "../../../shared/api/types";

/** A column that is not read. */
export const IGNORE = "ignore";
/** The meaning "a field of the guest's own". Several columns may have it. The field's name may follow: `field:Table`. */
export const FIELD = "field";
const NAMED = `${FIELD}:`;
/** Longest name of a field, in characters. */
export const FIELD_NAME_CHARS = 24;

interface Group {
  id: "person" | "ticket" | "order";
  meanings: readonly string[];
}

const ALL: readonly Group[] = [
  { id: "person", meanings: ["name", "first_name", "last_name", "email", "other_email", "phone", "party_size", "note", "flag", FIELD] },
  { id: "ticket", meanings: ["barcode", "entry_type", "status", "valid_from", "expires_at", "zone", "gate_ids"] },
  { id: "order", meanings: ["guest_list", "order_id", "position", "external_id"] },
];
/** Meanings that columns of a promoter's file may not have. */
const ORGANISERS: ReadonlySet<string> = new Set(["flag", FIELD, "barcode", "entry_type", "valid_from", "expires_at", "zone", "gate_ids", "guest_list"]);

/** What a column can become, in groups. */
export const groupsFor = (promoter: boolean): readonly Group[] =>
  promoter ? ALL.map((group) => ({ ...group, meanings: group.meanings.filter((one) => !ORGANISERS.has(one)) })).filter((group) => group.meanings.length > 0) : ALL;

/** The name of a column in a mapping: `#` and its number. `place` counts from 0. Headers are not used, since two may be the same. */
const placed = (place: number): string => `#${place + 1}`;

/** The meaning of a column on the page: what the person last said, or else what the server found. */
export const meaningOf = (mapping: ImportMapping, place: number, column: ImportColumn): string =>
  mapping.columns?.[placed(place)] ?? column.becomes ?? IGNORE;

/** The kind of a meaning: `FIELD` for each field, whatever its name is. */
export const kindOf = (meaning: string): string => (meaning.startsWith(NAMED) ? FIELD : meaning);

/** The name of a column's field: as a person or the server said, or else the column's header. */
export const fieldName = (meaning: string, header: string): string =>
  meaning.startsWith(NAMED) ? meaning.slice(NAMED.length) : [...header.trim()].slice(0, FIELD_NAME_CHARS).join("").trim();

/** The meaning for a field with this name. Without a name, the column's header names it. */
export const field = (name: string): string => (name.trim() === "" ? FIELD : NAMED + name.trim());

/** Sets the meaning of a column. If a person gave another column the same meaning, that column is ignored from now on, except for fields. */
export function withColumn(mapping: ImportMapping, place: number, meaning: string): ImportMapping {
  const others = Object.entries(mapping.columns ?? {}).map(([name, said]) => [name, said === meaning && kindOf(meaning) !== FIELD ? IGNORE : said]);
  return { ...mapping, columns: { ...Object.fromEntries(others), [placed(place)]: meaning } };
}

/** A question on the page. It may join several of the server's questions that have one answer. */
export interface Asked {
  key: string;
  kind: QuestionKind;
  /** The texts of the file that the question is about. */
  about: readonly string[];
  /** The first line that waits for the answer. After the answer it keeps its last value. */
  line: number;
  rows: number;
}

const keyOf = (question: ImportQuestion): string => (question.kind === "status" ? `status ${question.about ?? ""}` : question.kind);

/**
 * The questions of a file. An answered question stays, so that the answer can be changed. A question goes away if no row waits for
 * it and nobody answered it.
 */
export function questionsOf(before: readonly Asked[], result: ImportResult, mapping: ImportMapping): Asked[] {
  const now = new Map<string, Asked>();
  for (const question of result.questions) {
    const key = keyOf(question);
    const same = now.get(key);
    const about = [...(same?.about ?? []), ...(question.about === null ? [] : [question.about])];
    now.set(key, { key, kind: question.kind, about, line: Math.min(same?.line ?? question.line, question.line), rows: (same?.rows ?? 0) + question.rows });
  }
  const stay = before.filter((one) => now.has(one.key) || answerTo(mapping, one) !== null).map((one) => now.get(one.key) ?? one);
  return [...stay, ...[...now.values()].filter((one) => !before.some((old) => old.key === one.key))];
}

/** The possible answers to each kind of question, in the order of the page. */
export const answersTo: Readonly<Record<QuestionKind, readonly string[]>> = {
  missing_codes: ["make", "leave_out"],
  status: ["active", "voided"],
  empty_words_in_names: ["name", "empty"],
  day_first: ["true", "false"],
};

/** Questions that nobody answered. */
export const openOf = (asked: readonly Asked[], mapping: ImportMapping): number => asked.filter((one) => answerTo(mapping, one) === null).length;

/** The answer to a question. `null`: nobody answered it. */
export function answerTo(mapping: ImportMapping, question: Pick<Asked, "kind" | "about">): string | null {
  if (question.kind === "status") return mapping.statuses?.[question.about[0] ?? ""] ?? null;
  const said = mapping[question.kind];
  return said === undefined ? null : String(said);
}

/** The mapping with an answer. */
export function withAnswer(mapping: ImportMapping, question: Pick<Asked, "kind" | "about">, answer: string): ImportMapping {
  switch (question.kind) {
    case "status":
      return { ...mapping, statuses: { ...mapping.statuses, [question.about[0] ?? ""]: answer === "active" ? "active" : "voided" } };
    case "day_first":
      return { ...mapping, day_first: answer === "true" };
    case "missing_codes":
      return { ...mapping, missing_codes: answer === "make" ? "make" : "leave_out" };
    case "empty_words_in_names":
      return { ...mapping, empty_words_in_names: answer === "name" ? "name" : "empty" };
  }
}

/** The mapping for another sheet or encoding. It has no columns and answers, because those of the old one do not apply. */
export function readAnew(mapping: ImportMapping, how: Pick<ImportMapping, "encoding" | "sheet">): ImportMapping {
  const { columns: _, ...rest } = mapping;
  return { ...rest, ...how };
}
