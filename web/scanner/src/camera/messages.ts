import type { Format } from "./formats.ts";

/**
 * Why no code can be read by camera. `no_surface`: the browser gives a worker no canvas. `failing`: one frame after another
 * fails. `not_started`: the decoder did not start. `error` is the browser's own text, or empty.
 */
export interface ReaderFault {
  reason: "no_surface" | "failing" | "not_started" | "error";
  error: string;
}

export type ToDecoder =
  /** The first message. `engine` is the port to which the decoder sends codes. */
  | { kind: "boot"; engine: MessagePort }
  /** The kinds of codes to read from now on. QR is always read too. */
  | { kind: "formats"; formats: readonly Format[] }
  /** A picture, handed over; answered by `done`. */
  | { kind: "frame"; frame: VideoFrame | ImageBitmap };

export type FromDecoder =
  | { kind: "ready" }
  /** The decoder did not load, or can read no frame. */
  | { kind: "fault"; fault: ReaderFault }
  /** After a fault: a frame was read. */
  | { kind: "reads" }
  /** The decoder has read and closed the frame, and is ready for the next one. */
  | { kind: "done"; found: boolean }
  | { kind: "crowd" };
