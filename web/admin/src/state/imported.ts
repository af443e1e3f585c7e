/** What an import did beyond its sums, in words. */
import type { ImportResult } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

const { importing } = words;

/** What a person decided here, and the file would have undone. */
export const keptWords = (result: ImportResult): string => (result.kept === 0 ? "" : importing.kept(result.kept, result.dry_run));

/** Products of somebody else's export that the event knows nothing of, and what becomes of their rows. */
export function unknownWords(result: ImportResult): string {
  if (result.unknown_types.length === 0) return "";
  const named = result.unknown_types.map((type) => importing.unknownType(type.name, type.rows)).join(", ");
  const then = result.left_out > 0 ? `${importing.leftOut(result.left_out, result.dry_run)}.` : importing.firstType(result.dry_run);
  return `${importing.unknownTypes(named)} ${then}`;
}
