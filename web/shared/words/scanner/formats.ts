/** The forms of a counted noun: `one`, `few` and so on, as far as the language has them. `other` is used for all further forms. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** The texts before and after the one part that the screen formats in another way. */
export type Around = [before: string, after: string];

/** Functions that write numbers and times and choose plurals in one language, by the browser's `Intl`. `tag` is a BCP 47 tag. */
export function formats(tag: string) {
  const number = new Intl.NumberFormat(tag);
  const decimal = new Intl.NumberFormat(tag, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const plurals = new Intl.PluralRules(tag);
  // Each `Date` that comes here has the event's local time in its UTC fields, because a browser may lack the event's time zone.
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
    /** The time of day of such a date: `19:42`. */
    clock: (at: Date): string => clock.format(at),
    /** The day and time of such a date: `Sun 7 June, 19:30`. */
    day: (at: Date): string => day.format(at),
  };
}
