/** Taking a scan back. */
import { plural } from "./format.ts";

export const act = "Undo";
export const within = (seconds: number) => `Undo ${seconds} s`;
export const done = (persons: number) =>
  plural(persons, { one: "Undone: one person taken back", other: `Undone: ${persons} persons taken back` });
export const title = "Undo this scan?";
/** Before the scan's title, between it and its code, and after the code. */
export const scan = (time: string): [before: string, between: string, after: string] => [
  "",
  ` at ${time} · `,
  ". Undoing adds a correction; the scan itself stays in the record.",
];
export const keep = "Persons who stay counted";
export const fewer = "One fewer";
export const more = "One more";
export const keeping = (persons: number) => `Keep ${persons}, undo the rest`;
