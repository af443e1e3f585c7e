const LOCK = "scanner-writer";

export interface LockEvents {
  /** This tab may scan now. */
  granted(): void;
  /** Another tab scans; this one waits for it to close. */
  elsewhere(): void;
  /** Another tab took over. */
  lost(): void;
  /** This browser has no such locks, or gives none. */
  refused(why: string): void;
}

/**
 * Asks to be the one tab that scans, and holds on until the tab closes or another one steals. The lock spares staff two
 * scanners in one browser; what protects the journal is the writer generation in each append.
 */
export async function holdWriterLock(steal: boolean, events: LockEvents, lent?: LockManager): Promise<void> {
  const forEver = () => new Promise<never>(() => {});
  const hold = async () => {
    events.granted();
    await forEver();
  };
  try {
    const locks = lent ?? navigator.locks;
    if (steal) {
      await locks.request(LOCK, { steal: true }, hold);
      return;
    }
    let free = true;
    await locks.request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock === null) free = false;
      else await hold();
    });
    if (free) return;
    events.elsewhere();
    await locks.request(LOCK, hold);
  } catch (error) {
    // A stolen lock rejects with AbortError.
    if (error instanceof DOMException && error.name === "AbortError") events.lost();
    else events.refused(error instanceof Error ? error.message : String(error));
  }
}
