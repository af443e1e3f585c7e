/** What an import did beyond its sums, in words. */
import type { ImportResult } from "../../../shared/api/types";
import { number } from "./format.ts";

const rows = (count: number): string => `${number(count)} ${count === 1 ? "row" : "rows"}`;

/** What a person decided here, and the file would have undone. */
export function keptWords(result: ImportResult): string {
  if (result.kept === 0) return "";
  const one = result.kept === 1;
  const stay = result.dry_run ? "would stay" : one ? "stays" : "stay";
  const what = one ? "1 ticket that the file calls good" : `${number(result.kept)} tickets that the file calls good`;
  return `${what} ${stay} voided or refunded: somebody here decided so.`;
}

/** Products of somebody else's export that the event knows nothing of, and what becomes of their rows. */
export function unknownWords(result: ImportResult): string {
  if (result.unknown_types.length === 0) return "";
  const named = result.unknown_types.map((type) => `${type.name} (${rows(type.rows)})`).join(", ");
  const left = `${rows(result.left_out)} ${result.dry_run ? "would be" : result.left_out === 1 ? "was" : "were"} left out.`;
  const first = `Their rows ${result.dry_run ? "would get" : "have"} the event's first entry type.`;
  return `No entry type of this event is called: ${named}. ${result.left_out > 0 ? left : first}`;
}
