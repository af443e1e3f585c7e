import type { DeviceType, FoundGuest, Input, VerdictView, View } from "../../../shared/core/engine.ts";
import type { PairingPlace } from "./place.ts";
import type { JournalFailure } from "../storage/journal.ts";

/** The inputs that the page may send to the engine. The worker makes all other inputs itself. */
export type PageInput = Extract<
  Input,
  {
    type:
      | "pair"
      | "ask_pairing"
      | "cancel_pairing"
      | "code"
      | "search"
      | "guest"
      | "count"
      | "override"
      | "booking"
      | "walk_in"
      | "headcount"
      | "undo"
      | "direction"
      | "operator"
      | "gate"
      | "pin"
      | "online"
      | "tick"
      | "sync_now"
      | "battery"
      | "hide_problem"
      | "export";
  }
>;

/**
 * Why this device cannot scan. `storage`: it cannot store scans. `core`: the core, which judges scans, did not start or broke.
 * `error` is the text of the thrown error if `reason` needs it, and empty otherwise.
 */
export interface Fault {
  what: "core" | "storage";
  reason: JournalFailure | "no_engine" | "no_lock" | "error";
  error: string;
}

/** The use of the codes that the app reads: it judges them as tickets, or shows them on the page as pairing codes. */
export type Aim = "tickets" | "pairing";

export type ToEngine =
  /** The first message. `reader` is the port on which the decoder worker's codes arrive. */
  | { kind: "boot"; deviceType: DeviceType; steal: boolean; reader: MessagePort }
  | { kind: "input"; input: PageInput; readAt?: number }
  | { kind: "aim"; aim: Aim }
  /** Asks to which event and gate a pairing token belongs. */
  | { kind: "look"; token: string }
  /** A question is open on the page: no code may replace it. */
  | { kind: "hold"; on: boolean }
  /** Staff have seen the verdict and want the next code. */
  | { kind: "next" };

export type FromEngine =
  /** Whether this tab is the one that scans. */
  | { kind: "tab"; state: "writer" | "elsewhere" | "lost" }
  | { kind: "view"; view: View }
  /**
   * `readAt`: when the code was read, milliseconds since 1970 with fractions; absent if no code led to this verdict.
   * `camera`: whether the camera read the code. `again`: the verdict is from before this start, and is shown so that staff can
   * still act on it. `code`: the text that was read or typed; present together with `readAt`.
   */
  | { kind: "show"; verdict: VerdictView; readAt?: number; again: boolean; camera?: boolean; code?: string }
  /** `count` persons of a scan were undone. */
  | { kind: "undone"; scanId: string; count: number }
  | { kind: "found"; text: string; guests: FoundGuest[]; more: boolean }
  | { kind: "pin_refused"; triesLeft: number; pausedForMs: number }
  | { kind: "pin_ok" }
  | { kind: "refused"; code: string; message: string }
  | { kind: "export"; name: string; text: string }
  | { kind: "pairing_code"; text: string }
  /** The event and gate that a pairing token belongs to. */
  | { kind: "place"; token: string; place: PairingPlace }
  /** A code was not judged, because a question is open or the verdict before it had not been seen yet. */
  | { kind: "held" }
  /** Storage takes long to write a scan. `late`: a code waited too long for it and was not judged. */
  | { kind: "slow"; late: boolean }
  /** The progress of a download, in bytes. `total` is 0 if the server does not say it. */
  | { kind: "progress"; path: string; received: number; total: number }
  /** The device cannot scan, because the core did not load or storage cannot be opened. */
  | ({ kind: "fault" } & Fault);

/** A code that the decoder worker sends to the engine worker. */
export interface ReaderMessage {
  text: string;
  readAt: number;
}

/** The engine worker's answer to the decoder worker about a code. */
export type ReaderAnswer =
  /** The code's verdict is on the screen. */
  | { kind: "verdict"; text: string }
  /** The code was not judged now. The decoder may offer it again. */
  | { kind: "declined"; text: string };
