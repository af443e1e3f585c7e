/** The page's texts for the server's answer about a file. */
import type { ImportError, ImportProgress, ImportResult, ImportRow, RowFate } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { goesOn, named, sentence } from "./problems.ts";

const { importing: said, locale } = words;

/** How many lines a sentence names. */
const LINES = 3;

/** "1,212 rows · looks like a Luma export · UTF-8, commas". */
export function aboutFile(name: string, result: ImportResult): string {
  const { file, export: system } = result;
  const delimiter = file.delimiter === null ? "" : (said.about.delimiters[file.delimiter] ?? said.about.delimiter(file.delimiter));
  return [
    name,
    said.about.rows(file.rows),
    system === null ? "" : said.about.export(system),
    file.encoding === null ? "" : said.about.text(file.encoding, delimiter),
    file.sheet === null ? "" : said.about.sheet(file.sheet),
  ]
    .filter(Boolean)
    .join(" · ");
}

const same = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase();

/**
 * The note under a column that says what its status words and codes mean. It lists the words that admit guests only if the event
 * has none of the file's guests yet. For a guest whom the event has, a word that keeps guests out is a change.
 */
export function noteOf(meaning: string, samples: readonly string[], result: ImportResult): string {
  const { columns } = said;
  switch (meaning) {
    case "barcode":
      return columns.code;
    case "other_email":
      return columns.buyer;
    case "flag":
      return columns.flag;
    case "field":
      return columns.field;
    case "entry_type": {
      const out = result.left_out_because.flatMap((one) => (one.reason === "entry_type" && one.about ? [one.about] : []));
      return [
        result.new_entry_types.length > 0 ? columns.newTypes(result.new_entry_types) : "",
        result.unknown_types.length > 0 ? columns.firstType(result.unknown_types.map((one) => one.name)) : "",
        out.length > 0 ? columns.typesOut(out) : "",
      ]
        .filter(Boolean)
        .join(" · ");
    }
    case "status": {
      const out = result.left_out_because.flatMap((one) => (one.reason === "status" && one.about ? [one.about] : []));
      const open = result.questions.flatMap((one) => (one.kind === "status" && one.about ? [one.about] : []));
      const known = samples.filter((text, at) => text.trim() !== "" && samples.findIndex((other) => same(other, text)) === at);
      const ins = result.updated + result.unchanged > 0 ? [] : known.filter((text) => ![...out, ...open].some((other) => same(other, text)));
      return columns.comesIn(ins, out);
    }
    default:
      return "";
  }
}

/** Whether to ask about entry types: the file names types that the event lacks, or a person has answered already. */
export const asksForTypes = (result: ImportResult, answered: boolean): boolean =>
  answered || result.new_entry_types.length > 0 || result.unknown_types.length > 0 || result.left_out_because.some((one) => one.reason === "entry_type");

/** "71 declined, 22 pending, 2 total lines". */
export const leftOutWords = (result: ImportResult): string =>
  result.left_out_because.map((one) => said.who.reasons[one.reason](one.rows, one.about ?? "")).join(", ");

/** Texts about the lines with errors: which lines they are, and what to do if a spreadsheet damaged them. */
export function wrongWords(result: ImportResult): { title: string; text: string } {
  const lines = [...new Set(result.errors.map((error) => error.line))];
  const which = said.who.lines(lines.slice(0, LINES), result.wrong_lines);
  if (result.damaged === result.wrong_lines) return { title: said.who.damaged(result.damaged), text: said.who.damagedWhy(which) };
  return { title: said.who.wrong(result.wrong_lines), text: result.damaged > 0 ? said.who.wrongDamaged(which, result.damaged) : which };
}

/** "Code: this code was damaged by a spreadsheet: 2.38E+13." */
export const errorWords = (error: ImportError): string => {
  const label = said.columns.names[error.field] ?? error.field;
  return sentence(said.rows.wrongField(label === "line" ? said.rows.line(error.line) : label, named(error.message, said.columns.names), goesOn(error.message)));
};
export const whyWords = (row: ImportRow): string => (row.why === null ? "" : sentence(named(row.why, said.columns.names)));

/** A row's second line: "ana@guests.example · 2 persons · VIP · HL-0061". */
export const rowDetail = (row: ImportRow): string =>
  [row.name === null ? null : row.email, row.party_size === null || row.party_size === 1 ? null : said.rows.party(row.party_size), row.entry_type, row.barcode]
    .filter((part) => part !== null && part !== "")
    .join(" · ");
export const rowName = (row: ImportRow): string => row.name || row.email || row.barcode || said.rows.noName;

/** The rows with this fate. `messages`: only rows that wait for these questions. */
export const rowsOf = (result: ImportResult, fate: RowFate, messages?: readonly string[]): ImportRow[] =>
  result.rows.filter((row) => row.becomes === fate && (messages === undefined || messages.includes(row.why ?? "")));

const quoted = (text: string): string => `"${(/^[=+\-@\t]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;

/** The errors as CSV. A text that a spreadsheet would take for a formula is guarded. */
export function errorsCsv(errors: readonly ImportError[]): string {
  const { csv } = said.rows;
  const rows = errors.map((error) => [String(error.line), said.columns.names[error.field] ?? error.field, errorWords(error)]);
  return `\u{feff}${[[csv.line, csv.column, csv.wrong], ...rows].map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`;
}

/** Both readings of a date such as 11/12/2026: "11 December 2026" (day first), "12 November 2026" (month first). `null`: no such date. */
export function bothWays(example: string): { day: string; month: string } | null {
  const [, first, second, year] = /^\s*(\d{1,2})\D(\d{1,2})\D(\d{2,4})/.exec(example) ?? [];
  if (!first || !second || !year) return null;
  const full = year.length === 2 ? 2000 + Number(year) : Number(year);
  const text = (day: string, month: string): string =>
    new Intl.DateTimeFormat(locale, { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" }).format(Date.UTC(full, Number(month) - 1, Number(day)));
  return { day: text(first, second), month: text(second, first) };
}

/** A text about the progress, and the share that is done, from 0 to 1. `null`: not known. */
export function progressWords(progress: ImportProgress | null): { text: string; share: number | null } {
  const share = progress && progress.of > 0 ? Math.min(1, progress.done / progress.of) : null;
  if (progress === null || share === null || progress.stage === "reading") return { text: said.who.reading, share: null };
  return { text: said.who[progress.stage](progress.done, progress.of), share };
}
