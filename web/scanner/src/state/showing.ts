/** What is on the scanner's screen, and how long it stands there. */
import type { VerdictView } from "../../../shared/core/engine.ts";
import type { Zoom } from "../camera/camera.ts";
import { faceOf, type Face } from "./words.ts";

export type Sheet = "search" | "more" | "history" | "sync" | "settings" | "override" | "undo" | "booking" | "pair" | "add_guest" | "headcount" | "gate" | "check" | null;

/** A verdict on the screen. */
export interface Shown {
  verdict: VerdictView;
  /** Grows with each; a repeat of the same verdict is another showing. */
  key: number;
  /** Wall clock, milliseconds. */
  at: number;
  /** It was taken before this start. */
  again: boolean;
}

/** How long Undo stands ready at the thumb, milliseconds. */
export const UNDO_MS = 10_000;
/**
 * A verdict that took another's place on the screen can be answered or dismissed only after so long, milliseconds: a finger
 * that comes down sooner was on its way to a button of the one before, and nobody sees a change and acts on it that fast.
 * The next code is no answer: its own rules hold.
 */
export const FRESH_MS = 350;
/** Verdicts that make way by themselves: nobody has to act on them. */
const PASSING: ReadonlySet<Face> = new Set<Face>(["admit", "exit", "nobody"]);
/** Sheets that a scan comes of: its verdict closes them, and what went wrong is said in them. */
export const OF_A_SCAN: ReadonlySet<Sheet> = new Set<Sheet>(["override", "undo", "search", "add_guest", "check"]);
/** How long a short sentence stands, milliseconds. */
export const NOTICE_MS = 4000;
const ZOOMS = [1, 1.5, 2, 3];
/** How long it is said that two codes are in view, milliseconds. */
export const CROWD_MS = 1200;

/** Whether a verdict leaves the screen by itself. One that offers a booking waits. */
export function passes(verdict: VerdictView): boolean {
  return PASSING.has(faceOf(verdict)) && verdict.booking === undefined;
}

/** The next step of enlargement, and from the last one back to none. */
export function nextZoom(zoom: Zoom): number {
  return ZOOMS.find((factor) => factor > zoom.factor + 0.01 && factor <= zoom.most) ?? 1;
}
