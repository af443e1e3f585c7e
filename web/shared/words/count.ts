/** Numbers and plurals of one language, by the browser's `Intl`. Each catalogue creates them once for its locale. */

/** The forms of a noun. `other` is used for each form that the catalogue leaves out. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** Functions that write numbers and counted things in one language. */
export interface Counting {
  /** A whole number with its group marks: "1,140". */
  number(value: number): string;
  /** A number with as many decimals as are given: "33.7". */
  decimal(value: number, digits: number): string;
  /** A number and its noun: "1 guest", "1,140 guests". */
  count(value: number, forms: Forms): string;
  /** The noun alone, in the form that belongs to the number. */
  form(value: number, forms: Forms): string;
  /** "North, South and Way out". */
  list(parts: readonly string[]): string;
}

export function countingOf(locale: string): Counting {
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const rules = new Intl.PluralRules(locale);
  const lists = new Intl.ListFormat(locale, { type: "conjunction" });
  const form = (value: number, forms: Forms): string => forms[rules.select(value)] ?? forms.other;
  return {
    number: (value) => whole.format(value),
    decimal: (value, digits) => value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
    count: (value, forms) => `${whole.format(value)} ${form(value, forms)}`,
    form,
    list: (parts) => lists.format(parts),
  };
}
