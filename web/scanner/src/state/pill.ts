import type { View } from "../../../shared/core/engine.ts";
import { count, span } from "./format.ts";

/** Ages of the list, milliseconds: silent below the first, worth amber above the second (experience §9). */
const LIST_SILENT_MS = 5 * 60_000;
const LIST_OLD_MS = 30 * 60_000;

/**
 * The one line on how this device stands with the server. Offline is normal: amber with a number, never an alarm. The
 * list's age counts only while the server is away: online, an unchanged list is a good one however long ago it was made.
 */
export function pillOf(view: View, now: number): { text: string; attention: boolean } {
  const parts = [view.captive ? "No real network" : !view.online ? "Offline" : view.suspended ? "Held by the server" : "Online"];
  if (view.unsent > 0) parts.push(`${count(view.unsent)} to send`);
  const age = view.list === null ? 0 : now - Date.parse(view.list.generated_at);
  if (view.list?.expired === true) parts.push("list out of date");
  else if (!view.online && age >= LIST_SILENT_MS) parts.push(`list ${span(age)}`);
  if (view.problems.length > 0) parts.push(`${count(view.problems.length)} refused`);
  const old = view.list?.expired === true || (!view.online && age > LIST_OLD_MS);
  return { text: parts.join(" · "), attention: !view.online || view.captive || view.suspended || old || view.problems.length > 0 };
}
