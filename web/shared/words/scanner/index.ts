import type * as en from "./en.ts";

/**
 * Every text of the scanner that a person sees or hears, in the language that is in use.
 *
 * Write each use in full, such as `words.pair.title`. The bundler then replaces it by the text itself. If a section gets another name
 * (`const texts = words.pair`), the app contains all texts of the section with their names.
 */
export * as words from "./en.ts";

/** What a language must have: every section and text of English, with the same arguments. */
export type Catalogue = Texts<typeof en>;

/** Widens the type of an English text to `string`, so that another language may have other words. */
type Texts<T> = T extends string
  ? string
  : T extends (...given: infer Given) => infer Text
    ? (...given: Given) => Texts<Text>
    : { [Name in keyof T]: Texts<T[Name]> };
