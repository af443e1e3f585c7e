import type { DeviceType, FoundGuest, Input, VerdictView, View } from "../../../shared/core/engine.ts";
import type { PairingPlace } from "./place.ts";
import type { JournalFailure } from "../storage/journal.ts";

/** The inputs that the page may hand to the engine; the rest is the worker's own business. */
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
 * Why nothing works. `storage`: scans cannot be kept; `core`: what judges them did not start or broke. `error` is the text
 * of what was thrown, where the reason needs it, and else empty.
 */
export interface Fault {
  what: "core" | "storage";
  reason: JournalFailure | "no_engine" | "no_lock" | "error";
  error: string;
}

/** What the codes the reader sees are for: a ticket to judge, or the pairing code to show on the page. */
export type Aim = "tickets" | "pairing";

export type ToEngine =
  /** First of all; `reader` is where the decoder worker posts what it reads. */
  | { kind: "boot"; deviceType: DeviceType; steal: boolean; reader: MessagePort }
  | { kind: "input"; input: PageInput; readAt?: number }
  | { kind: "aim"; aim: Aim }
  /** What is this pairing token for? */
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
   * `readAt`: when the code was read, milliseconds since 1970 with fractions; absent when no code led to this.
   * `camera`: it was the camera that read it. `again`: a verdict of before this start, shown so that staff can still act on it.
   * `code`: the text that was read or typed, with `readAt`.
   */
  | { kind: "show"; verdict: VerdictView; readAt?: number; again: boolean; camera?: boolean; code?: string }
  /** `count` persons of a scan were taken back. */
  | { kind: "undone"; scanId: string; count: number }
  | { kind: "found"; text: string; guests: FoundGuest[]; more: boolean }
  | { kind: "pin_refused"; triesLeft: number; pausedForMs: number }
  | { kind: "pin_ok" }
  | { kind: "refused"; code: string; message: string }
  | { kind: "export"; name: string; text: string }
  | { kind: "pairing_code"; text: string }
  /** What a pairing token is for. */
  | { kind: "place"; token: string; place: PairingPlace }
  /** A code was not looked at: a question is open, or the verdict before it had not been seen yet. */
  | { kind: "held" }
  /** Storage takes long to write down a scan; `late`: a code waited for it in vain and was not looked at. */
  | { kind: "slow"; late: boolean }
  /** A download under way, to show that something moves; `total` is 0 when the server doesn't say. */
  | { kind: "progress"; path: string; received: number; total: number }
  /** Nothing works without this: the core did not load, or storage cannot be opened. */
  | ({ kind: "fault" } & Fault);

/** What the decoder worker tells the engine worker. */
export interface ReaderMessage {
  text: string;
  readAt: number;
}

/** What the engine worker answers to the decoder worker. */
export type ReaderAnswer =
  /** Its verdict is on the screen. */
  | { kind: "verdict"; text: string }
  /** Not now; offer it again. */
  | { kind: "declined"; text: string };
