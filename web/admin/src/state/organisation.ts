/** The organisation's own pages: which role sees which, and texts for their data. */
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

/** The page that an address names. If it names none, this is the first page that the role sees. */
export const readSection = (path: string, role: Role): Section => SECTIONS.find((one) => path === address(one.id))?.id ?? sectionsOf(role)[0] ?? "members";

const DAY = 24 * 3_600_000;
/** The choices for a token's validity, in days. The server allows two years at most. */
export const LENGTHS = [30, 90, 365, 730] as const;
export const endsAfter = (days: number, now: number): string => new Date(now + days * DAY).toISOString();

/** A token that ends within this time is shown as ending soon. */
const SOON = 14 * DAY;
export type TokenState = "valid" | "soon" | "expired" | "revoked";
export function tokenState(token: Pick<ApiTokenView, "expires_at" | "revoked_at">, now: number): TokenState {
  if (token.revoked_at !== null) return "revoked";
  const left = Date.parse(token.expires_at) - now;
  return left <= 0 ? "expired" : left < SOON ? "soon" : "valid";
}
export const opens = (state: TokenState): boolean => state === "valid" || state === "soon";

/** The roles that a member with this role may give to a token. The member may do everything that such a token may do. */
export const rolesFor = (role: Role): Role[] => (role === "owner" ? [...ROLES] : ROLES.filter((one) => one !== "owner"));

/** Letters and digits that people do not confuse with each other. */
const PLAIN = "abcdefghjkmnpqrstuvwxyz23456789";
/** A random first password: four groups of four characters, 79 bits. `draw` fills an array with random bytes. */
export function drawPassword(draw: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array = (bytes) => crypto.getRandomValues(bytes)): string {
  const out: string[] = [];
  while (out.length < 16) {
    for (const byte of draw(new Uint8Array(32))) {
      // Bytes above the last multiple of the alphabet's length are skipped, because they would make some letters more likely.
      if (byte < 256 - (256 % PLAIN.length) && out.length < 16) out.push(PLAIN[byte % PLAIN.length] ?? "");
    }
  }
  return out.join("").replace(/(.{4})(?=.)/g, "$1-");
}

/** The data that a person hands to a new member. It is shown only once. */
export interface HandedOver {
  name: string;
  email: string;
  password: string;
}

/** The state of a webhook. `refused`: a message was refused after the last accepted one, so a person must look at it. */
export function webhookState(one: Pick<WebhookView, "enabled" | "received_at" | "refused_at">): "off" | "refused" | "silent" | "on" {
  if (!one.enabled) return "off";
  if (one.refused_at !== null && (one.received_at === null || Date.parse(one.refused_at) > Date.parse(one.received_at))) return "refused";
  return one.received_at === null ? "silent" : "on";
}

export const COLUMNS = ["external_id", "name", "email", "phone", "party_size", "guest_list", "entry_type", "updated_at"] as const satisfies readonly (keyof WebhookColumns)[];
type ColumnForm = Record<keyof WebhookColumns, string>;
/** The columns for a form. An empty text means that the column is not read. */
export const formOf = (columns: WebhookColumns): ColumnForm => Object.fromEntries(COLUMNS.map((name) => [name, columns[name] ?? ""])) as ColumnForm;
export const columnsOf = (form: ColumnForm): WebhookColumns =>
  Object.fromEntries(COLUMNS.map((name) => [name, form[name].trim() === "" ? null : form[name].trim()])) as unknown as WebhookColumns;
