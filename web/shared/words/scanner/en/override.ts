/** Letting a refused guest in with the staff PIN. */
import { plural } from "./format.ts";

export const said = (headline: string) => `The screen said “${headline}”. This is recorded with your name.`;
export const noPin = "This event has no staff PIN, so nobody can set a refusal aside here.";
export const pin = "Staff PIN";
export const name = "Your name";
export const reason = "Reason";
export const persons = "Persons";
export const paused = (seconds: number) => `Too many wrong PINs. Try again in ${seconds} s.`;
export const wrongPin = (triesLeft: number) =>
  plural(triesLeft, { one: `Wrong PIN. ${triesLeft} try left.`, other: `Wrong PIN. ${triesLeft} tries left.` });
