/**
 * Forms whose changes are not saved: whoever would leave one is asked first. A page's form is left by a link, by the way
 * back and by closing the window; a drawer's and a dialog's by closing it too.
 */

/** Each says whether it has changes that are not saved. */
const forms = new Set<() => boolean>();

/** What is asked about: what happens when the changes are discarded, `null` while nothing is asked; and of which form. */
export const leaving = $state<{ then: (() => void) | null }>({ then: null });
let about: (() => boolean) | null = null;

/** Counts a form among those that are asked about, until the answer is called. */
export function watchForm(dirty: () => boolean): () => void {
  forms.add(dirty);
  return () => forms.delete(dirty);
}

export const unsaved = (): boolean => [...forms].some((dirty) => dirty());

/** Leaves at once where nothing is lost, else once a person says so. `form` narrows the question to one that is watched. */
export function leave(then: () => void, form?: () => boolean): void {
  if (!(form ?? unsaved)()) return then();
  about = form ?? null;
  leaving.then = then;
}

export function stay(): void {
  about = null;
  leaving.then = null;
}

/** The changes are not wanted: what was asked about asks no more, and without a question no form does. */
export function discard(): void {
  if (about) forms.delete(about);
  else forms.clear();
  about = null;
  const then = leaving.then;
  leaving.then = null;
  then?.();
}
