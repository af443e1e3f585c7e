/** Pages of the organisation rather than of an event, who sees which, and what the server says on them. */
import type { ApiTokenView, Role, WebhookColumns, WebhookView } from "../../../shared/api/types";

export type Section = "members" | "tokens" | "webhooks" | "mails" | "audit";
export const ROLES: readonly Role[] = ["owner", "manager", "promoter", "door", "viewer"];

const SECTIONS: readonly { id: Section; roles: readonly Role[] }[] = [
  { id: "members", roles: ["owner"] },
  { id: "tokens", roles: ["owner", "manager"] },
  { id: "webhooks", roles: ["owner", "manager"] },
  { id: "mails", roles: ["owner", "manager"] },
  { id: "audit", roles: ["owner", "manager"] },
];
const ROOT = "/organisation";

export const sectionsOf = (role: Role): Section[] => SECTIONS.filter((one) => one.roles.includes(role)).map((one) => one.id);
export const address = (section: Section): string => `${ROOT}/${section}`;
export const isOrganisation = (path: string): boolean => path === ROOT || SECTIONS.some((one) => path === address(one.id));

/** The page of an address, whoever may see it; without a name the first that the role sees. */
export const readSection = (path: string, role: Role): Section => SECTIONS.find((one) => path === address(one.id))?.id ?? sectionsOf(role)[0] ?? "members";

const DAY = 24 * 3_600_000;
/** How long a token may be made good for, in days; the server takes two years at most. */
export const LENGTHS = [30, 90, 365, 730] as const;
export const endsAfter = (days: number, now: number): string => new Date(now + days * DAY).toISOString();

/** Within this of its end a token is said to end soon. */
const SOON = 14 * DAY;
export type TokenState = "valid" | "soon" | "expired" | "revoked";
export function tokenState(token: Pick<ApiTokenView, "expires_at" | "revoked_at">, now: number): TokenState {
  if (token.revoked_at !== null) return "revoked";
  const left = Date.parse(token.expires_at) - now;
  return left <= 0 ? "expired" : left < SOON ? "soon" : "valid";
}
export const opens = (state: TokenState): boolean => state === "valid" || state === "soon";

/** Roles that a token may be made in: of which its maker may do everything. */
export const rolesFor = (role: Role): Role[] => (role === "owner" ? [...ROLES] : ROLES.filter((one) => one !== "owner"));

/** Letters and digits that nobody mistakes for another, read out or typed. */
const PLAIN = "abcdefghjkmnpqrstuvwxyz23456789";
/** A first password: four groups of four, 79 bits. `draw` gives so many random bytes. */
export function drawPassword(draw: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array = (bytes) => crypto.getRandomValues(bytes)): string {
  const out: string[] = [];
  while (out.length < 16) {
    for (const byte of draw(new Uint8Array(32))) {
      // A byte beyond the last whole round would make some letters likelier than others.
      if (byte < 256 - (256 % PLAIN.length) && out.length < 16) out.push(PLAIN[byte % PLAIN.length] ?? "");
    }
  }
  return out.join("").replace(/(.{4})(?=.)/g, "$1-");
}

/** What a new member is handed, once. */
export interface HandedOver {
  name: string;
  email: string;
  password: string;
}

/** How a webhook stands: a message that was refused after the last that was taken in is what a person must look at. */
export function webhookState(one: Pick<WebhookView, "enabled" | "received_at" | "refused_at">): "off" | "refused" | "silent" | "on" {
  if (!one.enabled) return "off";
  if (one.refused_at !== null && (one.received_at === null || Date.parse(one.refused_at) > Date.parse(one.received_at))) return "refused";
  return one.received_at === null ? "silent" : "on";
}

export const COLUMNS = ["external_id", "name", "email", "phone", "party_size", "guest_list", "entry_type", "updated_at"] as const satisfies readonly (keyof WebhookColumns)[];
type ColumnForm = Record<keyof WebhookColumns, string>;
/** Columns as a form has them: an empty text is a column that is not read. */
export const formOf = (columns: WebhookColumns): ColumnForm => Object.fromEntries(COLUMNS.map((name) => [name, columns[name] ?? ""])) as ColumnForm;
export const columnsOf = (form: ColumnForm): WebhookColumns =>
  Object.fromEntries(COLUMNS.map((name) => [name, form[name].trim() === "" ? null : form[name].trim()])) as unknown as WebhookColumns;
