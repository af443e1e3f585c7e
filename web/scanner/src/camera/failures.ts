import type { ReaderFault } from "./messages.ts";

/** Whether frames can be read at all: one that can't is a frame without a code, but a row of them is a broken reader. */

/** So many frames in a row that failed are no accident: a second of them at full speed, eight when the camera idles. */
export const TOLD_AFTER = 30;

/** What no later frame can mend, this browser having no surface to read frames from: staff are told at the first one. */
export class NoSurface extends Error {}

/** Counts the failures in a row, and says when staff have to be told. */
export class Failures {
  #row = 0;
  #told = false;

  /** A frame failed. What staff are told now; null: nothing yet, or they know. */
  failed(error: unknown): ReaderFault | null {
    this.#row += 1;
    if (this.#told || (this.#row < TOLD_AFTER && !(error instanceof NoSurface))) return null;
    this.#told = true;
    return error instanceof NoSurface ? { reason: "no_surface", error: "" } : { reason: "failing", error: textOf(error) };
  }

  /** A frame was read, with or without a code in it. Whether staff were told that none can be. */
  read(): boolean {
    const told = this.#told;
    this.#row = 0;
    this.#told = false;
    return told;
  }
}

/** The text of something that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
