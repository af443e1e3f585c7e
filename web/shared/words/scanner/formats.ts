/** The texts of one number: the form for `one`, `few` and so on where the language has it, else `other`. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** The text before and after the one part that a screen marks up. */
export type Around = [before: string, after: string];

/** How a language writes numbers and times and chooses plurals, by the browser's own tables. `tag` is a BCP 47 tag. */
export function formats(tag: string) {
  const number = new Intl.NumberFormat(tag);
  const decimal = new Intl.NumberFormat(tag, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const plurals = new Intl.PluralRules(tag);
  // Dates come with the local time in their UTC fields: a browser may lack the event's zone, but none lacks UTC.
  const hours = { hour: "2-digit", minute: "2-digit", timeZone: "UTC" } as const;
  const clock = new Intl.DateTimeFormat(tag, hours);
  const day = new Intl.DateTimeFormat(tag, { weekday: "short", day: "numeric", month: "long", ...hours });
  return {
    /** A whole number, in groups: `2,500`. */
    count: (n: number): string => number.format(n),
    /** A number with one decimal: `1.5`. */
    tenths: (n: number): string => decimal.format(n),
    /** The form that belongs to `n`. */
    plural: (n: number, forms: Forms): string => forms[plurals.select(n)] ?? forms.other,
    /** A time of the day, of a date with the local time in its UTC fields: `19:42`. */
    clock: (at: Date): string => clock.format(at),
    /** A day and a time, likewise: `Sun 7 June, 19:30`. */
    day: (at: Date): string => day.format(at),
  };
}
