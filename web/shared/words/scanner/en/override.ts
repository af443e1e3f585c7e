/** Letting a refused guest in with the staff PIN. */
import { plural } from "./format.ts";

export const said = (headline: string) => `The screen said “${headline}”. Your name is recorded with the scan.`;
export const noPin = "This event has no staff PIN. The organiser sets one under Gates and rules.";
export const pin = "Staff PIN";
export const name = "Your name";
export const reason = "Reason";
/** Ready-made reasons; each is recorded as it stands. */
export const reasons = ["Paid at the desk", "Checked by name", "Organiser said yes", "Ticket mix-up"];
export const otherReason = "Another reason";
export const otherReasonLabel = "Which reason";
export const recordedAs = "Recorded as";
export const persons = "Persons";
export const paused = (seconds: number) => `Too many wrong PINs. Try again in ${seconds} s.`;
export const wrongPin = (triesLeft: number) =>
  plural(triesLeft, { one: `Wrong PIN. ${triesLeft} try left.`, other: `Wrong PIN. ${triesLeft} tries left.` });
