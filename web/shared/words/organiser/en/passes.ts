/** The page of passes with their mails, and the page of tickets. */
import { counting, entriesOf, passesOf, personsOf, ticketsOf } from "./numbers.ts";

const { number, form } = counting;

export const passes = {
  title: "Passes and mail",
  lead: "Each new guest gets a pass. Guests with an e-mail address get it by mail.",
  all: "All",
  states: { open: "Waiting", gave_up: "Refused", done: "Sent" },
  columns: { guest: "Guest", state: "State", detail: "Detail", changed: "Changed" },
  rowStates: { draft: "Mailed when doors open", open: "Waiting", parked: "Waits for the mail server", again: "Tries again", gave_up: "Refused", done: "Sent", made: "Made" },
  retry: "Try again",
  retryAll: "Try all again",
  nextTry: (when: string) => `next try ${when}`,
  tries: (tries: number) => `${number(tries)} ${form(tries, { one: "try", other: "tries" })}`,
  aGuest: "A guest",
  steps: {
    "insert-qr-code": "making the code",
    "generate-qr-png": "drawing the code",
    upload: "storing the picture",
    "send-email": "sending the e-mail",
  } as Record<string, string>,
  stateWords: { open: "waits", parked: "waits for the mail server", again: "tries again", gave_up: "refused", done: "done" },
  none: "No passes yet",
  noneWhy: "A pass is mailed to a guest who is added with an e-mail address, and to imported guests where the import says so.",
  toGuests: "See the guests",
  noneLike: "Nothing like that.",
  banner: (waiting: number) => `${passesOf(waiting)} ${waiting === 1 ? "waits" : "wait"} for the same reason`,
  bannerNoServer: "No mail server is set up",
  bannerNoServerWhy: (waiting: number) =>
    waiting === 0
      ? "Whoever runs the server sets SMTP_URL and SMTP_FROM; before that no pass is mailed."
      : `${passesOf(waiting)} ${waiting === 1 ? "waits" : "wait"}. Whoever runs the server sets SMTP_URL and SMTP_FROM; then ${waiting === 1 ? "it is" : "they are"} mailed without another act.`,
  bannerSince: (since: string) => `Mail has waited since ${since}`,
  draftNote: "The event is a draft. Its passes are mailed within minutes after its doors open.",
};

export const tickets = {
  title: "Tickets",
  find: "Name or code",
  findLabel: "Find tickets",
  export: "Export",
  import: "Import",
  columns: { guest: "Guest", type: "Type", code: "Code", in: "In", last: "Last entry", state: "State" },
  chips: { all: "All", to_come: "Not used yet", came: "Used", voided: "Voided", refunded: "Refunded" },
  types: "Entry types",
  count: ticketsOf,
  shown: (value: number) => `${number(value)} shown`,
  newest: "newest first",
  facts: { type: "Type", gates: "Gates", admits: "Admits", in: "In", last: "Last entry", from: "Valid from", until: "Valid until", order: "Order" },
  persons: personsOf,
  codeHidden: "The code came as a fingerprint: it can be scanned, and not shown.",
  noName: "No name",
  inOf: (came: number, limit: number) => `${number(came)} of ${number(limit)}`,
  entriesFor: (entries: number, limit: number, over: number) => `${entriesOf(entries)} for ${number(limit)}${over > 0 ? `, ${number(over)} over the limit` : ""}`,
  insideOf: (inside: number, limit: number, entries: number, over: number) =>
    `${number(inside)} of ${number(limit)} inside, ${entriesOf(entries)}${over > 0 ? `, ${number(over)} over the limit` : ""}`,
  statuses: { active: "Valid", used: "Used", voided: "Voided", refunded: "Refunded" },
  voidTitle: "Void this ticket?",
  voidWhy: "Scanners refuse it after their next sync. You can restore it.",
  voidYes: "Void ticket",
  voided: (name: string) => `The ticket of ${name} is voided.`,
  restored: (name: string) => `The ticket of ${name} is valid again.`,
  clear: "Show all tickets",
  none: "No tickets yet",
  noneWhy: "A ticket is made with each guest. Import a list, or add a guest.",
  noneLike: "No ticket like that",
  noneLikeWhy: "Try a part of the name, or the whole code.",
};
