/**
 * The words of the organiser's app in the active language. A further language is another file next to `en.ts`, with the type
 * `Words`. The compiler names every word that the file lacks.
 */
import { en } from "./en.ts";

export type Words = typeof en;
export const words: Words = en;
