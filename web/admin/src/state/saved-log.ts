/** The result of importing a saved log. */
import type { ImportedLog } from "../../../shared/api/types.ts";

/** Whether the file is no saved log: none of its lines is a scan, not even of another event. */
export function isNoLog(result: ImportedLog): boolean {
  const taken = result.stored + result.known + result.waiting + result.unproven + result.counted;
  return taken === 0 && result.wrong_lines > 0 && !result.errors.some((error) => /^is of event |^is of a device/.test(error.message));
}
