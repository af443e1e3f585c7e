/**
 * Asks a person before they leave a form with unsaved changes. They leave a page's form by a link, by going back or by closing the
 * window, and a form in a drawer or dialog also by closing that.
 */

/** The watched forms. Each function says whether its form has unsaved changes. */
const forms = new Set<() => boolean>();

/** The open question. `then` runs if the person discards the changes; `null` while there is no question. */
export const leaving = $state<{ then: (() => void) | null }>({ then: null });
let about: (() => boolean) | null = null;

/** Watches a form. The returned function ends that. */
export function watchForm(dirty: () => boolean): () => void {
  forms.add(dirty);
  return () => forms.delete(dirty);
}

export const unsaved = (): boolean => [...forms].some((dirty) => dirty());

/** Calls `then` at once if nothing is lost, or else once the person agrees. `form`: only this form is about to be left. */
export function leave(then: () => void, form?: () => boolean): void {
  if (!(form ?? unsaved)()) return then();
  about = form ?? null;
  leaving.then = then;
}

export function stay(): void {
  about = null;
  leaving.then = null;
}

/** Discards the changes of the form in question, or of all forms if the question was about all. */
export function discard(): void {
  if (about) forms.delete(about);
  else forms.clear();
  about = null;
  const then = leaving.then;
  leaving.then = null;
  then?.();
}
