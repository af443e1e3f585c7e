/** Notices a camera that gives no more frames. A system may take the camera away, or let its picture stand still, without any event. */

/** A camera on a visible page counts as frozen if it gave no frame for this long, milliseconds. */
export const FROZEN_AFTER_MS = 10_000;

/** Measures the time since the last frame. Time in which no frame is expected does not count. The caller gives the times. */
export class FrameWatch {
  /** When the last frame came, or since when frames are expected. Null while none are expected. */
  #fine: number | null = null;

  /** A frame came. */
  frame(now: number): void {
    this.#fine = now;
  }

  /** Whether the picture stands still. `expected`: the page is visible and a camera is open. */
  isFrozen(now: number, expected: boolean): boolean {
    if (!expected) {
      this.#fine = null;
      return false;
    }
    this.#fine ??= now;
    return now - this.#fine >= FROZEN_AFTER_MS;
  }

  /** Starts the measurement again, because a camera was opened. */
  anew(): void {
    this.#fine = null;
  }
}
