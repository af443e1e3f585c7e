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
  /** A frame, whose memory goes to the decoder. The answer is `done`. */
  | { kind: "frame"; frame: VideoFrame | ImageBitmap };

export type FromDecoder =
  | { kind: "ready" }
  /** The decoder did not load, or can read no frame. */
  | { kind: "fault"; fault: ReaderFault }
  /** A frame was read for the first time after a fault. */
  | { kind: "reads" }
  /** The decoder has read and closed the frame, and is ready for the next one. */
  | { kind: "done"; found: boolean }
  | { kind: "crowd" };
