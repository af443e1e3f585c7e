/**
 * The words of the organiser's app in the language that is active. A language is a file beside `en.ts` that has the type
 * `Words`; the compiler names every word it lacks.
 */
import { en } from "./en.ts";

export type Words = typeof en;
export const words: Words = en;
