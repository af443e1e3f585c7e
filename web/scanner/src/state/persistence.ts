import { words } from "../../../shared/words/scanner/index.ts";

/** As much of `navigator.storage` as this needs; old browsers lack parts of it. */
export type Keeper = Partial<Pick<StorageManager, "persist" | "persisted">>;

/**
 * Whether the browser keeps our storage when a phone runs out of space: scans must outlive that. Browsers grant it by how
 * much an app is used and whether it is installed, so it is asked for again when that may have changed.
 */
export class Persistence {
  #asked = false;

  /** `tell` hears what holds; never, where the browser does not say. */
  constructor(
    private readonly browser: () => { storage: Keeper | undefined; userAgent: string },
    private readonly tell: (kept: boolean) => void,
  ) {}

  /** Somebody tapped to pair: a question to them comes at a good moment. */
  tapped(): void {
    void this.#ask(true);
  }

  /** The phone scans: once per start. */
  ready(): void {
    if (this.#asked) return;
    this.#asked = true;
    void this.#ask(false);
  }

  /** The app was installed just now: that is what browsers go by. */
  installed(): void {
    void this.#ask(false);
  }

  async #ask(tapped: boolean): Promise<void> {
    const { storage, userAgent } = this.browser();
    try {
      const kept = await storage?.persisted?.();
      // In a queue nobody wants a question of the browser's over the camera.
      const may = tapped || !asksPeople(userAgent);
      const granted = kept === true || !may ? kept : ((await storage?.persist?.()) ?? kept);
      if (granted !== undefined) this.tell(granted);
    } catch {
      // Site data is blocked, or the page is not secure: nothing was learnt.
    }
  }
}

/** Firefox puts the question to the person; all others decide by themselves. On iOS it is Safari within. */
function asksPeople(userAgent: string): boolean {
  return /\bFirefox\//.test(userAgent);
}

/** The row in the sheet. */
export function persistenceWords(kept: boolean | null): string {
  if (kept === null) return words.sync.persistenceUnknown;
  return kept ? words.sync.persisted : words.sync.notPersisted;
}
