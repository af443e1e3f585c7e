/** The event that the frame is about, while somebody is on a page of the organisation; over a reload too. Each tab has its own. */
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
    // A browser that stores nothing keeps it until the next reload.
  }
}
