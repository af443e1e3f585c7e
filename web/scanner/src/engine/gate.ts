import type { Screen } from "../../../shared/core/engine.ts";

/** A verdict other than "go" keeps the screen at least this long before another code may replace it, milliseconds. */
const STAY_MS = 1000;
const PASSING: ReadonlySet<Screen> = new Set<Screen>(["admit", "exit", "same_ticket"]);

/**
 * Whether the next code may be looked at now. This is about the screen, not about tickets: staff must have had the
 * time to see a "stop", and a question they are asked isn't swept away by the next guest's phone.
 */
export class CodeGate {
  #held = false;
  #screen: Screen | null = null;
  #shownAt = 0;

  /** A question is open. */
  get held(): boolean {
    return this.#held;
  }

  hold(on: boolean): void {
    this.#held = on;
  }

  shown(screen: Screen, monoMs: number): void {
    this.#screen = screen;
    this.#shownAt = monoMs;
  }

  /** `nextPressed`: staff asked for the next one, so nothing need stay. */
  cleared(): void {
    this.#screen = null;
  }

  open(monoMs: number): boolean {
    if (this.#held) return false;
    if (this.#screen === null || PASSING.has(this.#screen)) return true;
    return monoMs - this.#shownAt >= STAY_MS;
  }
}
