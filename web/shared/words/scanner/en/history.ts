/** The scans of this device. */
import type { HistoryRow } from "../../../core/engine.ts";

export const title = "History";
export const none = "Nothing scanned on this device yet.";
export const byStaff = "by staff";
export const undone = (persons: number) => `${persons} undone`;
export const undo = (title: string, time: string) => `Undo ${title} at ${time}`;
export const ticket = "Ticket";
export const sync = {
  waiting: "Waiting",
  sent: "Confirmed",
  refused: "Refused",
  held: "Held for review",
} satisfies Record<HistoryRow["sync"], string>;
