/** How English writes numbers, and the nouns that several pages count. */
import { countingOf } from "../../count.ts";

export const counting = countingOf("en-GB");

const { count } = counting;
export const guestsOf = (value: number): string => count(value, { one: "guest", other: "guests" });
export const personsOf = (value: number): string => count(value, { one: "person", other: "persons" });
export const scansOf = (value: number): string => count(value, { one: "scan", other: "scans" });
export const phonesOf = (value: number): string => count(value, { one: "phone", other: "phones" });
export const entriesOf = (value: number): string => count(value, { one: "entry", other: "entries" });
export const passesOf = (value: number): string => count(value, { one: "pass", other: "passes" });
export const rowsOf = (value: number): string => count(value, { one: "row", other: "rows" });
export const linesOf = (value: number): string => count(value, { one: "line", other: "lines" });
export const ticketsOf = (value: number): string => count(value, { one: "ticket", other: "tickets" });
export const casesOf = (value: number): string => count(value, { one: "case", other: "cases" });
export const daysOf = (value: number): string => count(value, { one: "day", other: "days" });
