/** The texts of a mail: what a form shows of them, and what of it is sent. */
import type { MailTemplateView } from "../../../shared/api/types";

export const PARTS = ["subject", "text", "html"] as const;
export type Part = (typeof PARTS)[number];
export type Texts = Record<Part, string>;

const each = <T>(of: (part: Part) => T): Record<Part, T> => ({ subject: of("subject"), text: of("text"), html: of("html") });

/** The server's own texts. */
export const defaultTexts = (view: Pick<MailTemplateView, "default">): Texts => each((part) => view.default[part] ?? "");
/** The texts that mails are written by: the organisation's, and the server's where it has none. */
export const textsOf = (view: Pick<MailTemplateView, "own" | "default">): Texts => each((part) => view.own[part] ?? view.default[part] ?? "");

/** What a form changed. A text that is the server's own again is sent as `null`. */
export function changedTexts(before: Texts, form: Texts, standard: Texts): Partial<Record<Part, string | null>> {
  return Object.fromEntries(PARTS.filter((part) => form[part] !== before[part]).map((part) => [part, form[part] === standard[part] ? null : form[part]]));
}
