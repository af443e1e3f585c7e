/** People without a ticket, counted by hand, and a recount of everybody inside. */
import type { Headcount, PersonClass } from "../../../core/engine.ts";
import { plural } from "./format.ts";

export const title = "People without a ticket";
export const open = "Count people without a ticket";
export const classes = { staff: "Staff", crew: "Crew", child: "Children", other: "Others" } satisfies Record<PersonClass, string>;
export const step = "Persons a tap";
export const less = (name: string, persons: number) => `${persons} ${name} out`;
export const more = (name: string, persons: number) => `${persons} ${name} in`;
export const here = "Counted on this phone: who came in, less who went out.";
export const recount = "Everybody inside";
export const recountWhy = "Count all persons in this area, with a ticket or without. Later scans and counts are added to your figure.";
export const inside = (persons: number) => plural(persons, { one: "1 person inside by scans and counts", other: `${persons} persons inside by scans and counts` });
export const saveRecount = "Save recount";
/** The last recount of this phone. */
export const last = (persons: number, time: string, gate: string) => `Recounted ${persons} at ${time}, ${gate}`;
export const undoRecount = "Undo recount";
export const undoLast = (what: string) => `Undo ${what}`;
/** A past headcount in a few words. */
export const row = (headcount: Headcount) => {
  if ("recount" in headcount) return `Recount: ${headcount.recount.inside} inside`;
  const { class: name, delta } = headcount.change;
  return `${classes[name]} ${delta > 0 ? "+" : "−"}${Math.abs(delta)}`;
};
