/** What became of an event: its figures for whoever writes the account of it. */
import { casesOf, counting, entriesOf, guestsOf, personsOf } from "./numbers.ts";

const { number, decimal, count } = counting;

export const report = {
  title: "Report",
  print: "Print",
  asOf: (at: string) => `Figures as of ${at}`,
  tickets: "Tickets as CSV",
  quarters: "Quarter hours as CSV",
  notBegun: "The event has not begun. Its figures stand here as they come in.",
  running: "The event is not over: these figures still grow.",
  unsettled: (cases: number) => `${casesOf(cases)} ${cases === 1 ? "waits" : "wait"} in Review. Settling ${cases === 1 ? "it" : "them"} may change these figures.`,
  toReview: "Open review",
  holding: (phones: number, scans: number) =>
    `${count(phones, { one: "phone holds", other: "phones hold" })} about ${count(scans, { one: "scan", other: "scans" })} that the server has not received.`,
  toPhones: "See phones",
  came: "Persons let in",
  cameOf: (expected: number) => `of ${personsOf(expected)} expected`,
  share: (share: number) => `${decimal(share, 1)} %`,
  facts: { share: "Came", missing: "Did not come", over: "Over the limit", left: "Left by scan", present: "Still inside" },
  overHint: "Entries over their tickets' limits. They are in the number above, and of nobody who was expected.",
  chart: "Persons a quarter hour",
  chartSays: (most: number, at: string) => `Persons let in by quarter hour and gate. The most was ${number(most)}, from ${at}.`,
  chartNone: "Nobody came in.",
  quarter: "From",
  all: "All",
  gates: "Gates",
  columns: { gate: "Gate", in: "In", share: "Share", out: "Out", refused: "Refused", busiest: "Busiest quarter hour" },
  busiest: (at: string, persons: number) => `${at}, ${number(persons)}`,
  guests: "Guests",
  guestsAre: { came: "Came", no_show: "Did not come", to_come: "Still to come", voided: "Voided or refunded" },
  partyHint: "A party is one guest here",
  seeNoShows: "See who did not come",
  conflicts: "Conflicts",
  settled: "Settled",
  open: "Open",
  conflictsNone: "Nothing had to be settled.",
  over: (value: number) => entriesOf(value),
  guestsOf,
  csv: { quarter: "From (UTC)", gate: "Gate", entered: "In", exited: "Out", refused: "Refused" },
  file: (event: string) => `${event}, quarter hours.csv`,
};
