export type ToDecoder =
  /** First of all; `engine` is where codes go. */
  | { kind: "boot"; engine: MessagePort }
  /** A picture, handed over; answered by `done`. */
  | { kind: "frame"; frame: VideoFrame | ImageBitmap };

export type FromDecoder =
  | { kind: "ready" }
  /** The decoder itself did not load, or reads no frame. */
  | { kind: "fault"; message: string }
  /** After a fault: a frame was read. */
  | { kind: "reads" }
  /** The frame is looked at and closed; the next one may come. */
  | { kind: "done"; found: boolean }
  | { kind: "crowd" };
