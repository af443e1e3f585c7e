import type { ReaderFault } from "./messages.ts";

/** Tells when the reader is broken. One frame that fails counts as a frame without a code; many in a row are a fault. */

/** Staff are told after this many failed frames in a row: after one second at full speed, after eight when the camera idles. */
export const TOLD_AFTER = 30;

/** This browser has no canvas to read frames from. No later frame can be read either, so staff are told at the first one. */
export class NoSurface extends Error {}

/** Counts the failures in a row, and says when staff have to be told. */
export class Failures {
  #row = 0;
  #told = false;

  /** Counts a failed frame. Gives the fault that staff are told now. Null: too few frames failed, or staff were told already. */
  failed(error: unknown): ReaderFault | null {
    this.#row += 1;
    if (this.#told || (this.#row < TOLD_AFTER && !(error instanceof NoSurface))) return null;
    this.#told = true;
    return error instanceof NoSurface ? { reason: "no_surface", error: "" } : { reason: "failing", error: textOf(error) };
  }

  /** Notes that a frame was read, with or without a code. True if staff were told before that no frame can be read. */
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
