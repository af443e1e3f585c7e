import type { VerdictView } from "../../../shared/core/engine.ts";
import type { PageInput } from "../engine/messages.ts";
import type { Settings } from "./settings.ts";
import { asksCount } from "./words.ts";

/** How long a kiosk shows the verdict to a guest, milliseconds. */
export const KIOSK_MS = 4000;

/** The answer that a kiosk gives to a question, since no staff are there. A party goes in whole; any other question is answered with nobody. */
export function kioskAnswer(verdict: VerdictView): Extract<PageInput, { type: "count" }> | null {
  const { screen, scan_id, may_admit } = verdict;
  if (scan_id === null || !asksCount(verdict)) return null;
  return { type: "count", scan_id, count: screen === "admit_party" ? may_admit : 0 };
}

/** The part of the scanner that this module uses. */
export interface Guarded {
  readonly settings: Settings;
  setSettings(change: Partial<Settings>): void;
  /** Whether the event has a staff PIN. */
  readonly hasPin: boolean;
  /** Whether this tab judges tickets. */
  readonly scans: boolean;
}

/**
 * Keeps other people from using the app, in two ways: a locked screen, and a kiosk at which guests scan their own codes. The
 * staff PIN ends both. Neither encrypts anything. Unsent scans go on to the server meanwhile.
 */
export class Guard {
  #usedAt: number;

  constructor(
    private readonly scanner: Guarded,
    now: number = Date.now(),
  ) {
    this.#usedAt = now;
  }

  /** Notes that somebody touched the screen or a verdict came. `now`: wall clock, milliseconds. */
  used(now: number = Date.now()): void {
    this.#usedAt = now;
  }

  /** Locks the screen if nobody used it for `lockMinutes`. It never does without a PIN, since nothing could unlock it then. */
  tick(now: number): void {
    const { lockMinutes, locked, kiosk } = this.scanner.settings;
    const idle = lockMinutes > 0 && now - this.#usedAt >= lockMinutes * 60_000;
    if (idle && !locked && !kiosk && this.scanner.hasPin && this.scanner.scans) this.lock();
  }

  lock(): void {
    this.scanner.setSettings({ locked: true });
  }

  /** Begins the kiosk: guests scan their own codes from now on. */
  toKiosk(): void {
    this.scanner.setSettings({ kiosk: true });
  }

  /** The PIN was right. Ends the lock, or the kiosk if the screen is not locked. */
  opened(now: number = Date.now()): void {
    this.#usedAt = now;
    this.scanner.setSettings(this.scanner.settings.locked ? { locked: false } : { kiosk: false });
  }
}
