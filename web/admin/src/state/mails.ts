/** The texts of a mail in a form, and the changes that a save sends. */
import type { MailTemplateView } from "../../../shared/api/types";

export const PARTS = ["subject", "text", "html"] as const;
export type Part = (typeof PARTS)[number];
export type Texts = Record<Part, string>;

const each = <T>(of: (part: Part) => T): Record<Part, T> => ({ subject: of("subject"), text: of("text"), html: of("html") });

/** The server's own texts. */
export const defaultTexts = (view: Pick<MailTemplateView, "default">): Texts => each((part) => view.default[part] ?? "");
/** The texts in use: the organisation's own, or the server's if the organisation has none. */
export const textsOf = (view: Pick<MailTemplateView, "own" | "default">): Texts => each((part) => view.own[part] ?? view.default[part] ?? "");

/** The changed texts of a form. A text that equals the server's own again is sent as `null`. */
export function changedTexts(before: Texts, form: Texts, standard: Texts): Partial<Record<Part, string | null>> {
  return Object.fromEntries(PARTS.filter((part) => form[part] !== before[part]).map((part) => [part, form[part] === standard[part] ? null : form[part]]));
}
