/** Stores the event that a person came from while they are on a page of the organisation, also over a reload. Each tab has its own. */
const KEY = "admit.event";
let kept = read();

function read(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const eventKept = (): string | null => kept;

/** `null` forgets it. */
export function keepEvent(id: string | null): void {
  if (id === kept) return;
  kept = id;
  try {
    if (id === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, id);
  } catch {
    // The browser stores nothing. The event is then known until the next reload.
  }
}
