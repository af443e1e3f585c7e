/** Texts for the lines of an audit ledger: who did what, and to which named thing. */
import type { AuditAction, AuditView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

const { audit: said } = words.organisation;

/** Names of members, tokens, webhooks and phones, by id. Removed ones are missing. */
export type Names = Readonly<Record<string, string>>;
type Line = Pick<AuditView, "action" | "entity_id" | "user_id" | "device_id">;

/** The name of who did it. `known`: the names were read, so a person without a name is no longer a member. */
export function whoOf(line: Line, names: Names, known: boolean): string {
  if (line.user_id === null) return line.device_id === null ? said.server : (names[line.device_id] ?? said.phone);
  return names[line.user_id] ?? (known ? said.formerMember : words.frame.none);
}

/** The text of what was done and to what. If a person changed themselves, they are named only once. An unknown action is shown by the server's word. */
export function whatOf(line: Line, names: Names): string {
  const own = line.action.replaceAll("_", " ");
  const done = said.actions[line.action as AuditAction] ?? own.charAt(0).toLocaleUpperCase() + own.slice(1);
  const itself = line.entity_id === line.user_id || line.entity_id === line.device_id;
  return [done, itself ? undefined : names[line.entity_id]].filter(Boolean).join(" · ");
}

/** The actions that the organisation's own ledger records. An event's ledger records all others. */
const OWN: ReadonlySet<string> = new Set<AuditAction>([
  "api_token_created", "api_token_revoked", "device_mismatch", "event_ledgers_anchored", "key_rotated", "letterhead_updated", "mail_template_updated",
  "member_created", "member_removed", "member_updated", "organization_created", "password_changed", "run_retried", "signed_in", "signed_out",
  "webhook_endpoint_created", "webhook_endpoint_updated", "webhook_id_reused", "webhook_secret_rotated",
]);

/** The actions that a ledger may have, sorted by their texts. */
export function actionsOf(ledger: "organisation" | "event"): { id: AuditAction; name: string }[] {
  const all = Object.entries(said.actions).map(([id, name]) => ({ id: id as AuditAction, name }));
  return all.filter(({ id }) => OWN.has(id) === (ledger === "organisation")).sort((a, b) => a.name.localeCompare(b.name));
}
