import type * as en from "./en.ts";

/**
 * Every text of the scanner that a person sees or hears, in the language that is in use.
 *
 * Write each use in full, `words.pair.title`: the bundler then puts the text itself in that place. A section under
 * another name (`const texts = words.pair`) ships with all its texts and their names.
 */
export * as words from "./en.ts";

/** What a language must have: every section and text of English, with the same arguments. */
export type Catalogue = Texts<typeof en>;

/** A text of English stands for any text. */
type Texts<T> = T extends string
  ? string
  : T extends (...given: infer Given) => infer Text
    ? (...given: Given) => Texts<Text>
    : { [Name in keyof T]: Texts<T[Name]> };
