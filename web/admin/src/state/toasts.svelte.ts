/** Short messages about what was done; each goes by itself and can be sent away. Failures stay where they happened. */

/** How long one stays, in milliseconds: long enough to be read twice. */
const STAYS_MS = 6_000;

export interface Toast {
  id: number;
  text: string;
  /** Where what was done can be looked at. */
  to?: string | undefined;
}

export const toasts = $state<{ shown: Toast[] }>({ shown: [] });
let last = 0;

export function toast(text: string, to?: string): void {
  last += 1;
  const id = last;
  toasts.shown = [...toasts.shown.slice(-2), { id, text, to }];
  setTimeout(() => dismiss(id), STAYS_MS);
}

export function dismiss(id: number): void {
  toasts.shown = toasts.shown.filter((one) => one.id !== id);
}
