import { words } from "../../../shared/words/scanner/index.ts";

/** The part of `navigator.storage` that this module uses. Old browsers lack parts of it. */
export type Keeper = Partial<Pick<StorageManager, "persist" | "persisted">>;

/**
 * Asks the browser to keep the app's data even if the phone runs out of space, since scans must not be lost then. Browsers decide
 * by how much an app is used and whether it is installed. So the app asks again when that may have changed.
 */
export class Persistence {
  #asked = false;

  /** `tell` is called with the browser's decision. It is not called if the browser does not say. */
  constructor(
    private readonly browser: () => { storage: Keeper | undefined; userAgent: string },
    private readonly tell: (kept: boolean) => void,
  ) {}

  /** Somebody tapped to pair, which is a good moment for a question of the browser. */
  tapped(): void {
    void this.#ask(true);
  }

  /** The phone scans. Asks once per start. */
  ready(): void {
    if (this.#asked) return;
    this.#asked = true;
    void this.#ask(false);
  }

  /** The app was installed just now, so the browser may decide differently. */
  installed(): void {
    void this.#ask(false);
  }

  async #ask(tapped: boolean): Promise<void> {
    const { storage, userAgent } = this.browser();
    try {
      const kept = await storage?.persisted?.();
      // While a queue waits, a question of the browser must not cover the camera.
      const may = tapped || !asksPeople(userAgent);
      const granted = kept === true || !may ? kept : ((await storage?.persist?.()) ?? kept);
      if (granted !== undefined) this.tell(granted);
    } catch {
      // Site data is blocked, or the page is not secure. The browser's decision stays unknown.
    }
  }
}

/** Whether the browser asks the person. Firefox does; others decide themselves. Firefox for iOS is Safari inside and does not. */
function asksPeople(userAgent: string): boolean {
  return /\bFirefox\//.test(userAgent);
}

/** The text of the row in the sheet. */
export function persistenceWords(kept: boolean | null): string {
  if (kept === null) return words.sync.persistenceUnknown;
  return kept ? words.sync.persisted : words.sync.notPersisted;
}
