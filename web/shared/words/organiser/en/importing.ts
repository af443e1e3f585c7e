/** Importing a list of guests. */
import { counting, guestsOf, linesOf, personsOf, rowsOf } from "./numbers.ts";

const { number, count, form, list } = counting;

const typesOf = (value: number): string => count(value, { one: "new type", other: "new types" });
/** The first items of a list and the number of further ones: "Early bird, Press and 3 more". */
const some = (names: readonly string[], most: number): string =>
  list(names.length <= most ? names : [...names.slice(0, most), `${number(names.length - most)} more`]);

export const importing = {
  title: "Import",
  lead: "Bring a list of guests. You see who comes in before anything is changed.",
  steps: "Steps",
  stepFile: "File",
  stepColumns: "What each column is",
  stepWho: "Who comes in",

  file: {
    title: "Your list",
    drop: "Drop a file here, or",
    choose: "Choose a file",
    accepted: "CSV, TSV or Excel (.xlsx), with a header line, in any language and any encoding.",
    exports:
      "Exports of pretix, Eventbrite, Luma, Tito, Hi.Events, Weezevent, HelloAsso, Meetup, Humanitix, Ticket Tailor, alf.io, Google Forms and Microsoft Forms are recognised.",
    paste: "Paste a table instead",
    pasteLabel: "Table",
    pasteHint: "Copy the cells in your spreadsheet with their header line, and paste them here.",
    pasteUse: "Use this table",
    pasted: "Pasted table",
    unreadable: (name: string) => `${name} can't be read from this computer any more. Choose it again.`,
  },
  other: "Other file",

  past: {
    title: "Past imports",
    none: "Nothing was imported yet. Each import is listed here and can be undone until its first guest is scanned.",
    unnamed: "List without a name",
    undo: "Undo",
    undone: (when: string) => `Undone ${when}`,
    counts: (added: number, changed: number) => `${number(added)} added, ${number(changed)} changed`,
    unread: (why: string) => `The past imports can't be shown. ${why}`,
  },
  undo: {
    title: (name: string) => `Undo the import of ${name}?`,
    yes: "Undo import",
    guests: (added: number) => `${guestsOf(added)} of it ${form(added, { one: "leaves", other: "leave" })} the list. Scanners refuse ${form(added, { one: "this ticket", other: "these tickets" })} after their next sync.`,
    restored: (changed: number) => `${count(changed, { one: "changed guest is", other: "changed guests are" })} as before again, except where somebody changed them since.`,
    done: (withdrawn: number, restored: number, kept: number) =>
      [
        `Undone: ${guestsOf(withdrawn)} removed${restored > 0 ? `, ${number(restored)} as before` : ""}.`,
        ...(kept > 0 ? [`${number(kept)} ${form(kept, { one: "was", other: "were" })} changed since and ${form(kept, { one: "stays", other: "stay" })}.`] : []),
      ].join(" "),
    inUse: "Not undone: a guest of this import was scanned. Void single tickets under Tickets instead.",
    already: "This import was undone already.",
    offline: "Not undone: the server can't be reached. Try again when there is a connection.",
  },

  about: {
    rows: (rows: number) => rowsOf(rows),
    export: (system: string) => `looks like ${/^[aeiou]/i.test(system) ? "an" : "a"} ${system} export`,
    /** The name of an encoding stays on one line: its hyphens are no-break hyphens. */
    text: (encoding: string, delimiter: string) => `${encoding.replaceAll("-", "\u2011")}, ${delimiter}`,
    sheet: (name: string) => `Excel, sheet “${name}”`,
    delimiters: { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars" } as Record<string, string>,
    delimiter: (mark: string) => `columns end with “${mark}”`,
    reading: (name: string) => `${name} · being read`,
    refused: (name: string) => `${name} · can't be read`,
    done: (name: string) => `${name} · imported`,
  },

  columns: {
    title: "Columns",
    header: "In your file",
    example: "For example",
    becomes: "Becomes",
    unnamed: (place: number) => `Column ${number(place)}`,
    label: (header: string) => `What ${header} becomes`,
    ignore: "Ignore",
    groups: { person: "The guest", ticket: "The ticket", order: "Where it comes from" },
    names: {
      name: "Name",
      first_name: "First name",
      last_name: "Family name",
      email: "E-mail",
      other_email: "Buyer's e-mail",
      phone: "Phone",
      party_size: "Party size",
      note: "Note",
      flag: "Ask for",
      field: "A field of the guest",
      barcode: "Code",
      entry_type: "Entry type",
      status: "Status",
      zone: "Zone",
      gate_ids: "Gates",
      valid_from: "Valid from",
      expires_at: "Valid until",
      guest_list: "Guest list",
      order_id: "Order",
      position: "Place in the order",
      external_id: "Your reference",
    } as Record<string, string>,
    code: "The code that the guest already holds",
    buyer: "Used where the guest has no address",
    flag: "Staff are asked to check this at the door",
    field: "Kept with the guest under this name. Gates and rules says which fields a scan shows",
    fieldName: (header: string) => `Name of the field ${header}`,
    comesIn: (ins: readonly string[], outs: readonly string[]) => {
      const came = ins.length > 0 ? `${some(ins, 4)} ${form(ins.length, { one: "comes", other: "come" })} in` : "";
      const out = outs.length > 0 ? `${some(outs, 4)} ${form(outs.length, { one: "stays", other: "stay" })} out` : "";
      return [came, out].filter(Boolean).join("; ");
    },
    newTypes: (names: readonly string[]) => `${typesOf(names.length)}: ${some(names, 6)}`,
    firstType: (names: readonly string[]) => `${some(names, 6)} ${form(names.length, { one: "is", other: "are" })} no type of this event: these rows get its first type`,
    typesOut: (names: readonly string[]) => `Rows of ${some(names, 6)} stay out`,
    typeChoice: "Types that the event lacks",
    typeChoices: { create: "Add them to the event", first: "Use its first type", leave_out: "Leave their rows out" },
    remembered: "Columns and answers are as you gave them for the last file like this.",
    forget: "Start afresh",
    unrecognised: "No column was recognised. Choose which one is the name, the e-mail or the code.",
    encoding: "Letters are read as",
    /** The names of the encodings. The API and people use the same names. */
    encodings: ["UTF-8", "UTF-16LE", "UTF-16BE", "Windows-1252", "Mac Roman"],
    sheet: "Sheet",
    preamble: (lines: readonly string[]) => `Passed over above the header: ${some(lines.map((line) => `“${line}”`), 3)}`,
    more: (value: number) => `Show ${count(value, { one: "more column", other: "more columns" })}`,
  },

  who: {
    title: "What will happen",
    done: "What happened",
    reading: "Reading the file",
    comparing: (done: number, of: number) => `Comparing ${number(done)} of ${rowsOf(of)}`,
    storing: (done: number, of: number) => `Importing ${number(done)} of ${guestsOf(of)}`,
    progress: "Progress",
    show: "Show",
    showOf: (what: string) => `: ${what}`,
    new: (value: number) => (value === 0 ? "No new guests" : count(value, { one: "new guest", other: "new guests" })),
    added: (value: number) => (value === 0 ? "No guest added" : `${guestsOf(value)} added`),
    persons: (persons: number) => personsOf(persons),
    willMail: (value: number) => `${number(value)} will be mailed a pass`,
    mailed: (value: number) => `${number(value)} ${form(value, { one: "is", other: "are" })} mailed a pass`,
    changed: (value: number) => `${number(value)} changed`,
    changedWhy: "Their row says something new",
    unchanged: (value: number) => `${number(value)} unchanged`,
    unchangedWhy: "They are here already, as the file has them",
    leftOut: (value: number) => `${number(value)} left out`,
    reasons: {
      status: (rows: number, word: string) => `${number(rows)} ${word}`,
      total: (rows: number) => count(rows, { one: "total line", other: "total lines" }),
      unassigned: (rows: number) => `${number(rows)} without a guest`,
      entry_type: (rows: number, word: string) => `${number(rows)} of ${word}`,
      no_code: (rows: number) => `${number(rows)} without a code`,
      no_persons: (rows: number) => `${number(rows)} for no persons`,
    },
    damaged: (value: number) => count(value, { one: "damaged line", other: "damaged lines" }),
    damagedWhy: (lines: string) => `${lines}: a spreadsheet damaged them. Export the list again, and import that file unopened`,
    wrong: (value: number) => `${linesOf(value)} with errors`,
    wrongDamaged: (lines: string, damaged: number) => `${lines}. ${number(damaged)} of them ${form(damaged, { one: "was", other: "were" })} damaged by a spreadsheet`,
    /** Says that only the first lines are shown, and how many lines there are in all. */
    lines: (lines: readonly number[], of: number) =>
      `${form(of, { one: "Line", other: "Lines" })} ${list([...lines.map(number), ...(of > lines.length ? [`${number(of - lines.length)} more`] : [])])}`,
    joined: (value: number) => `${number(value)} joined`,
    joinedWhy: "They say the same as another row: one guest each",
    kept: (value: number) => count(value, { one: "stays voided or refunded", other: "stay voided or refunded" }),
    keptWhy: "The file calls them valid. Somebody here decided otherwise",
    promise: "Nothing is changed until you press Import. The whole import can be undone until its first guest is scanned.",
    undoable: "The whole import can be undone until its first guest is scanned.",
    unrecognised: "Say what the columns are to see who comes in.",
    nothing: "Nothing was changed: everything stood as the file has it.",
  },

  questions: {
    missing_codes: (rows: number) => `${rowsOf(rows)} ${form(rows, { one: "has", other: "have" })} no code`,
    missingCodes: { make: "Make codes", leave_out: "Leave them out" },
    status: (word: string) => `Does “${word}” come in?`,
    statuses: { active: "Comes in", voided: "Stays out" },
    empty_words_in_names: (words: readonly string[]) =>
      form(words.length, { one: `Is ${some(words.map((word) => `“${word}”`), 4)} a name?`, other: `Are ${some(words.map((word) => `“${word}”`), 4)} names?` }),
    emptyWords: { name: "A name", empty: "No name" },
    day_first: (example: string) => `Which day is ${example}?`,
    dayFirst: "Day first",
    monthFirst: "Month first",
    waits: (rows: number, line: number) =>
      form(rows, { one: `Line ${number(line)} waits for your answer`, other: `${rowsOf(rows)} wait for your answer, from line ${number(line)} on` }),
    count: (value: number) => count(value, { one: "question", other: "questions" }),
    answered: "Answered",
    open: (rows: number) => `${rowsOf(rows)} ${form(rows, { one: "waits", other: "wait" })} for an answer and would stay out.`,
  },

  options: {
    list: "Put everybody on",
    noList: "No list",
    promoterList: "Your list",
    noPromoterList: "You have no guest list at this event yet. Ask the organiser for one.",
    mail: (value: number) => `Mail passes to ${guestsOf(value)}`,
    mailNone: "No passes to mail: these guests hold their codes already, or have no e-mail address.",
    draft: "The event is a draft: these mails wait until its doors are opened.",
    unread: (why: string) => `The guest lists can't be shown. ${why}`,
    kinds: (names: readonly string[]) => `All codes look like ${list(names)}. Cameras at this event do not read that yet.`,
    kindsAdd: (names: readonly string[]) => `Read ${list(names)} too`,
    kindsAdded: (names: readonly string[]) => `Cameras read ${list(names)} after their next sync.`,
  },

  run: (added: number, changed: number) => {
    if (added > 0 && changed > 0) return `Import ${number(added)}, change ${number(changed)}`;
    if (added > 0) return `Import ${guestsOf(added)}`;
    return changed > 0 ? `Change ${guestsOf(changed)}` : "Import";
  },
  again: "Try again",
  notChecked: "Not checked: the server can't be reached. Nothing was changed.",
  notImported: "Not imported: the server can't be reached. Import again when there is a connection; a guest never comes in twice.",
  lost: "The connection was lost during the import. It may be complete: look at Past imports, or import again. A guest never comes in twice.",

  rows: {
    titles: { new: "New guests", changed: "Changed", unchanged: "Unchanged", left_out: "Left out", joined: "Joined", asked: "Rows that wait" },
    line: (line: number) => `Line ${number(line)}`,
    /** An error of a field: "Code is too long", or "Code: this code was damaged". */
    /** `goesOn`: the message completes a sentence that begins with the label. */
    wrongField: (label: string, message: string, goesOn: boolean) => (goesOn ? `${label} ${message}` : `${label}: ${message}`),
    noName: "No name",
    party: (persons: number) => personsOf(persons),
    first: (shown: number, all: number) => `The first ${number(shown)} of ${number(all)}`,
    wrong: "Lines with errors",
    download: "Download as CSV",
    csv: { line: "Line", column: "Column", wrong: "What is wrong" },
    csvName: (file: string) => `${file} errors.csv`,
  },

  result: {
    title: "Next",
    toast: (added: number, changed: number) => `${number(added)} added, ${number(changed)} changed.`,
    guests: "See the guests",
    pair: "Pair phones",
    undo: "Undo this import",
    another: "Import another file",
  },
  labels: { body: "The file", file: "The file", header: "The file", guest_list_id: "The list", mapping: "What the columns are", "mapping.encoding": "The encoding" } as Record<string, string>,
};
