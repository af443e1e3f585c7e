/** Short messages about what was done. Each disappears by itself or when a person closes it. Failures are shown where they happened. */

/** How long a message stays, in milliseconds. People can read it twice in that time. */
const STAYS_MS = 6_000;

export interface Toast {
  id: number;
  text: string;
  /** The page that shows what was done. */
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
