/** Whether a camera's picture goes on: a system may take it away, or let it stand still, and say nothing. */

/** Without a new frame for so long a camera that is looked at is taken to be frozen, milliseconds. */
export const FROZEN_AFTER_MS = 10_000;

/** Keeps the time since the last frame, of moments alone in which frames were to be expected. Times are given by the caller. */
export class FrameWatch {
  /** The last moment without a reason to worry; none while no frames are to be expected. */
  #fine: number | null = null;

  /** A frame came. */
  frame(now: number): void {
    this.#fine = now;
  }

  /** Looks whether it stands still. `expected`: the page is seen, and a camera is open. */
  isFrozen(now: number, expected: boolean): boolean {
    if (!expected) {
      this.#fine = null;
      return false;
    }
    this.#fine ??= now;
    return now - this.#fine >= FROZEN_AFTER_MS;
  }

  /** Another camera, or the same one opened anew: it has all the time again. */
  anew(): void {
    this.#fine = null;
  }
}
