import type { VerdictView } from "../../../shared/core/engine.ts";

/** A verdict that let nobody in stays on the screen at least this long before another code may replace it, milliseconds. */
const STAY_MS = 1000;

/**
 * Decides whether the next code may be judged now. This depends on the screen, not on tickets: staff need time to see a
 * refusal, and the next guest's code must not replace a question that staff have not answered.
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

  /** Staff asked for the next code, so the verdict on the screen may go at once. */
  cleared(): void {
    this.#stays = false;
  }

  open(monoMs: number): boolean {
    if (this.#held) return false;
    return !this.#stays || monoMs - this.#shownAt >= STAY_MS;
  }
}
