import type { VerdictView } from "../../../shared/core/engine.ts";

/** A verdict other than "go" keeps the screen at least this long before another code may replace it, milliseconds. */
const STAY_MS = 1000;

/**
 * Whether the next code may be looked at now. This is about the screen, not about tickets: staff must have had the
 * time to see a "stop", and a question they are asked isn't swept away by the next guest's phone.
 */
export class CodeGate {
  #held = false;
  #stays = false;
  #shownAt = 0;

  /** A question is open. */
  get held(): boolean {
    return this.#held;
  }

  hold(on: boolean): void {
    this.#held = on;
  }

  shown(verdict: Pick<VerdictView, "screen" | "opened">, monoMs: number): void {
    this.#stays = !verdict.opened && verdict.screen !== "same_ticket";
    this.#shownAt = monoMs;
  }

  /** Staff asked for the next one: nothing need stay. */
  cleared(): void {
    this.#stays = false;
  }

  open(monoMs: number): boolean {
    if (this.#held) return false;
    return !this.#stays || monoMs - this.#shownAt >= STAY_MS;
  }
}
