import type { Format } from "./formats.ts";

/**
 * Why no code can be read by camera: the browser gives a worker no drawing surface, one frame after another fails, the
 * decoder did not start, or what `error` says, which is the browser's own text and else empty.
 */
export interface ReaderFault {
  reason: "no_surface" | "failing" | "not_started" | "error";
  error: string;
}

export type ToDecoder =
  /** First of all; `engine` is where codes go. */
  | { kind: "boot"; engine: MessagePort }
  /** The kinds of codes to read from now on; QR always is. */
  | { kind: "formats"; formats: readonly Format[] }
  /** A picture, handed over; answered by `done`. */
  | { kind: "frame"; frame: VideoFrame | ImageBitmap };

export type FromDecoder =
  | { kind: "ready" }
  /** The decoder itself did not load, or reads no frame. */
  | { kind: "fault"; fault: ReaderFault }
  /** After a fault: a frame was read. */
  | { kind: "reads" }
  /** The frame is looked at and closed; the next one may come. */
  | { kind: "done"; found: boolean }
  | { kind: "crowd" };
