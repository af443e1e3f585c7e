/** Types and times of what the scanner's screen shows. */
import type { VerdictView } from "../../../shared/core/engine.ts";
import type { Zoom } from "../camera/camera.ts";
import { faceOf, type Face } from "./words.ts";

export type Sheet = "search" | "more" | "history" | "sync" | "settings" | "override" | "undo" | "booking" | "pair" | "add_guest" | "headcount" | "gate" | "check" | null;

/** A verdict on the screen. */
export interface Shown {
  verdict: VerdictView;
  /** The number of this showing. The same verdict shown again has a higher one. */
  key: number;
  /** Wall clock, milliseconds. */
  at: number;
  /** Whether the verdict is from before this start. */
  again: boolean;
}

/** How long the button Undo stays on the verdict, milliseconds. */
export const UNDO_MS = 10_000;
/**
 * A verdict that replaced another can be answered or dismissed only after this time, milliseconds. A tap that comes sooner was
 * meant for the verdict before, since nobody sees a change and acts on it that fast. `CodeGate` decides about the next code.
 */
export const FRESH_MS = 350;
/** Verdicts that leave the screen by themselves, because nobody has to act on them. */
const PASSING: ReadonlySet<Face> = new Set<Face>(["admit", "exit", "nobody"]);
/** Sheets that lead to a scan. The scan's verdict closes them, and they show errors themselves. */
export const OF_A_SCAN: ReadonlySet<Sheet> = new Set<Sheet>(["override", "undo", "search", "add_guest", "check"]);
/** How long a short message stays, milliseconds. */
export const NOTICE_MS = 4000;
const ZOOMS = [1, 1.5, 2, 3];
/** How long the message about two codes in view stays, milliseconds. */
export const CROWD_MS = 1200;

/** Whether a verdict leaves the screen by itself. One that offers a booking waits. */
export function passes(verdict: VerdictView): boolean {
  return PASSING.has(faceOf(verdict)) && verdict.booking === undefined;
}

/** The factor of the next step of enlargement. After the last step it is 1 again. */
export function nextZoom(zoom: Zoom): number {
  return ZOOMS.find((factor) => factor > zoom.factor + 0.01 && factor <= zoom.most) ?? 1;
}
