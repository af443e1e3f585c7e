const LOCK = "scanner-writer";

export interface LockEvents {
  /** This tab may scan now. */
  granted(): void;
  /** Another tab scans. This one waits until that one closes. */
  elsewhere(): void;
  /** Another tab took over. */
  lost(): void;
  /** This browser has no Web Locks, or refused the request. */
  refused(why: string): void;
}

/**
 * Asks for the lock of the one tab that scans. This tab holds it until it closes or another tab takes it over. The lock keeps
 * staff from scanning in two tabs. It does not protect the journal: the writer generation in each append does that.
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
    // The promise of a stolen lock rejects with `AbortError`.
    if (error instanceof DOMException && error.name === "AbortError") events.lost();
    else events.refused(error instanceof Error ? error.message : String(error));
  }
}
