/** Taking a scan back. */
import type { Around } from "../formats.ts";
import { plural } from "./format.ts";

export const act = "Undo";
export const within = (seconds: number) => `Undo ${seconds} s`;
export const done = (persons: number) =>
  plural(persons, { one: "Undone: one person taken back", other: `Undone: ${persons} persons taken back` });
export const title = "Undo this scan?";
/** With the guest's name. */
export const titleOf = (guest: string) => `Undo ${guest}?`;
/** The texts before and after the scan's title. */
export const scan = (time: string): Around => ["", ` at ${time}`];
export const keeps = "Undoing adds a correction. The scan itself stays in the record.";
export const keep = "Persons who stay counted";
export const fewer = "One fewer";
export const more = "One more";
export const keeping = (persons: number) => `Keep ${persons}, undo the rest`;
