/** Lines of the organisation's audit ledger in words: who did what, and to which of the things that have a name. */
import type { AuditView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

const { audit: said } = words.organisation;

/** Names by id: of members, tokens, webhooks. What is gone has none. */
export type Names = Readonly<Record<string, string>>;
type Line = Pick<AuditView, "action" | "entity_id" | "user_id" | "device_id">;

/** `known`: the names were read, so who has none is no member any more. */
export function whoOf(line: Line, names: Names, known: boolean): string {
  if (line.user_id === null) return line.device_id === null ? said.server : said.phone;
  return names[line.user_id] ?? (known ? said.formerMember : words.frame.none);
}

/** What was done, and to what; whoever did it to themselves is named once. */
export function whatOf(line: Line, names: Names): string {
  const own = line.action.replaceAll("_", " ");
  const done = said.actions[line.action] ?? own.charAt(0).toLocaleUpperCase() + own.slice(1);
  const to = line.entity_id === line.user_id ? undefined : names[line.entity_id];
  return [done, to].filter(Boolean).join(" · ");
}
