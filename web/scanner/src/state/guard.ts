import type { VerdictView } from "../../../shared/core/engine.ts";
import type { PageInput } from "../engine/messages.ts";
import type { Settings } from "./settings.ts";
import { asksCount } from "./words.ts";

/** How long a guest at the kiosk sees what became of their code, milliseconds. */
export const KIOSK_MS = 4000;

/** The answer to a question at the kiosk, where nobody stands to give one: a party goes in whole, whatever else is for staff. */
export function kioskAnswer(verdict: VerdictView): Extract<PageInput, { type: "count" }> | null {
  const { screen, scan_id, may_admit } = verdict;
  if (scan_id === null || !asksCount(verdict)) return null;
  return { type: "count", scan_id, count: screen === "admit_party" ? may_admit : 0 };
}

/** As much of the scanner as this needs. */
export interface Guarded {
  readonly settings: Settings;
  setSettings(change: Partial<Settings>): void;
  /** The event has a staff PIN by now. */
  readonly hasPin: boolean;
  /** Tickets are judged here. */
  readonly scans: boolean;
}

/**
 * What keeps the screen from hands that should not use it: a lock, and a tablet that guests hold their codes to. Both end with the
 * staff PIN. A deterrent, no encryption; scans that wait go on to the server meanwhile.
 */
export class Guard {
  #usedAt: number;

  constructor(
    private readonly scanner: Guarded,
    now: number = Date.now(),
  ) {
    this.#usedAt = now;
  }

  /** Somebody touched the screen, or a verdict came; wall clock, milliseconds. */
  used(now: number = Date.now()): void {
    this.#usedAt = now;
  }

  /** Locks the screen where nobody used it for as long as was set. Never where no PIN could open it again. */
  tick(now: number): void {
    const { lockMinutes, locked, kiosk } = this.scanner.settings;
    const idle = lockMinutes > 0 && now - this.#usedAt >= lockMinutes * 60_000;
    if (idle && !locked && !kiosk && this.scanner.hasPin && this.scanner.scans) this.lock();
  }

  lock(): void {
    this.scanner.setSettings({ locked: true });
  }

  /** Guests hold their own codes from now on. */
  toKiosk(): void {
    this.scanner.setSettings({ kiosk: true });
  }

  /** The PIN was right: the lock opens, else the kiosk ends. */
  opened(now: number = Date.now()): void {
    this.#usedAt = now;
    this.scanner.setSettings(this.scanner.settings.locked ? { locked: false } : { kiosk: false });
  }
}
