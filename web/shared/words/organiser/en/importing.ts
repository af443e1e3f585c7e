/** Importing a table of guests. */
import { counting, linesOf, rowsOf } from "./numbers.ts";

const { number, count } = counting;

export const importing = {
  title: "Import",
  lead: "A CSV file with a header line. The same file twice changes nothing.",
  file: "CSV file",
  choose: "Choose a file",
  other: "Other file",
  chosen: (name: string, size: string) => `${name} · ${size}`,
  kilobytes: (value: number) => `${number(value)} kB`,
  list: "Put everybody onto",
  noList: "No list",
  preview: "Preview",
  run: "Import",
  runCount: (value: number) => `Import ${count(value, { one: "guest", other: "guests" })}`,
  columns: "Columns that are read",
  columnsAre:
    "name, email, phone, party_size, barcode, zone, gate_ids, guest_list, order_id, position, external_id, valid_from, expires_at, status, note. Exports of pretix and Eventbrite are read as they are.",
  mails: "Guests with an e-mail address get their pass by mail.",
  knownOnly: "Leave out rows whose product is no entry type of this event, such as T-shirts or parking",
  legacy: "This file is not UTF-8: it was read as Windows-1252, as older spreadsheets save it. Check the accents, or save it as “CSV UTF-8”.",
  happens: "What will happen",
  happened: "What happened",
  nothingYet: "Choose a file to see who comes in. Nothing is changed until you press Import.",
  exportOf: (system: string) => `Read as an export of ${system}`,
  news: (value: number, dry: boolean) => (dry ? `${number(value)} new` : `${number(value)} added`),
  changed: (value: number) => `${number(value)} changed`,
  unchanged: (value: number) => `${number(value)} unchanged`,
  wrong: (value: number) => `${linesOf(value)} with errors`,
  wrongWhy: "These lines are left out",
  leftOut: (value: number, dry: boolean) => `${rowsOf(value)} ${dry ? "would be" : value === 1 ? "was" : "were"} left out`,
  unknownTypes: (names: string) => `No entry type of this event is called: ${names}.`,
  unknownType: (name: string, rows: number) => `${name} (${rowsOf(rows)})`,
  firstType: (dry: boolean) => `Their rows ${dry ? "would get" : "have"} the event's first entry type.`,
  kept: (value: number, dry: boolean) =>
    `${count(value, { one: "ticket that the file calls valid", other: "tickets that the file calls valid" })} ${dry ? "would stay" : value === 1 ? "stays" : "stay"} voided or refunded: somebody here decided so.`,
  ignored: (columns: readonly string[]) => `${count(columns.length, { one: "column was", other: "columns were" })} not read: ${columns.join(", ")}`,
  line: (line: number, field: string, message: string) => (field === "" ? `Line ${number(line)}: ${message}` : `Line ${number(line)}, ${field}: ${message}`),
  firstErrors: (shown: number, all: number) => `These are the first ${number(shown)} of ${number(all)} lines with errors. Correct these, then preview again.`,
  done: (added: number, changed: number) => `${number(added)} added, ${number(changed)} changed.`,
  see: "See guests",
  labels: { body: "The file", guest_list_id: "The list" },
};
