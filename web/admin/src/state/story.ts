/** Texts about a guest's state and history, from what the server says. */
import type { EventView, GuestView, MomentView, ShownGuest } from "../../../shared/api/types";
import { changes } from "./changes.ts";
import { words } from "../../../shared/words/organiser/index.ts";

const { guest: said } = words;

/** The text of an entry of the history, without its time. */
export function told(moment: MomentView): string {
  const { moments } = said;
  const by = moment.by ? moments.by(moment.by) : "";
  const where = (moment.gate ? moments.at(moment.gate) : "") + (moment.device ? moments.device(moment.device) : "");
  const hand = moment.by_hand ? moments.byName : "";
  const how = `${hand}${by}${moment.counts ? "" : moments.notCounted}`;
  switch (moment.what) {
    case "added":
      return moments.added(by);
    case "changed":
      return moments.changed(by, moment.fields.map((field) => said.fields[field] ?? field.replaceAll("_", " ")));
    case "received":
      return moments.received;
    case "row_deleted":
      return moments.rowDeleted;
    case "resent":
      return moments.resent(by);
    case "remade":
      return moments.remade(by);
    case "opened":
      return moments.opened;
    case "entered":
      return moments.entered(moment.persons, where, how);
    case "left":
      return moments.left(moment.persons, where, how);
    case "erased":
      return moments.erased(by);
    case "undone":
      return moments.undone(where + by);
    case "refused":
      return moments.refused(where, said.outcomes[moment.outcome ?? ""] ?? moment.outcome ?? moments.refusedPlain, hand + by);
  }
}

export type Tone = "ok" | "warn" | "bad" | "still" | "plain";

/** A short text about a guest's state. A guest without a valid ticket is not called expected. The usual state has no colour. */
export function standing(guest: GuestView, event: Pick<EventView, "re_entry"> & Partial<Pick<EventView, "status">>): { words: string; tone: Tone } {
  const { stands } = words.guests;
  const ticket = guest.ticket_status;
  if (ticket === "voided" || ticket === "refunded" || ticket === "used") return { words: stands[ticket], tone: "still" };
  if (guest.status === "no_show") return { words: stands.noShow, tone: "still" };
  if (guest.status === "pending") return mailStanding(guest) ?? { words: stands.expected, tone: "plain" };
  const { actual_count: came, party_size: party, inside } = guest;
  if (event.re_entry === "after_exit" && inside === 0) return { words: stands.left, tone: "plain" };
  if (party > 1 && event.re_entry !== "never") return { words: stands.entries(came, party), tone: "ok" };
  // A guest who was let in counts as inside during the event. After it the text says that they came.
  const over = event.status === "ended" || event.status === "archived";
  if (came < party) return { words: (over ? stands.cameSome : stands.some)(came, party), tone: "ok" };
  return over ? { words: stands.came, tone: "plain" } : { words: stands.inside, tone: "ok" };
}

/** The text about the pass of a guest who is still to come. */
function mailStanding({ mail }: Pick<GuestView, "mail">): { words: string; tone: Tone } | null {
  const { stands } = words.guests;
  if (mail?.state === "sent") return { words: stands.passSent, tone: "plain" };
  if (mail?.state === "waiting") return { words: stands.passWaits, tone: "plain" };
  if (mail?.state === "not_sent") return noAddress(mail.why) ? { words: stands.noMail, tone: "plain" } : { words: stands.mailRefused, tone: "warn" };
  return null;
}
/** Whether the mail was not sent because the guest has no address. That is no failure. */
const noAddress = (why: string | null): boolean => why !== null && /no e-mail/i.test(why);

/** A text about the mail with a guest's pass. Empty if there is nothing to say. `when` formats a moment. */
export function mailWords({ mail }: Pick<GuestView, "mail">, when: (at: string) => string): string {
  if (mail === null) return "";
  if (mail.state === "sent") return said.mailSent(mail.at === null ? "" : when(mail.at)).trim();
  if (mail.state === "waiting") return mail.why === null ? said.mailWaiting : said.mailWaitingWhy(mail.why);
  if (noAddress(mail.why)) return said.noEmail;
  return mail.why === null ? said.mailNot : said.mailRefused(mail.why);
}

/**
 * A link that opens a text message with the pass, for a guest without e-mail. Both Android and iOS read `?&body=`. In a number such
 * as "+49 (0)170" the zero in brackets is left out, because nobody dials it after a country code.
 */
export function smsLink(phone: string, text: string): string {
  const number = phone.trim().startsWith("+") ? phone.replace(/\(\s*0\s*\)/g, "") : phone;
  return `sms:${number.replace(/[^\d+]/g, "")}?&body=${encodeURIComponent(text)}`;
}

/** The values of a guest's form. `null`: the guest is not read yet. */
export const filled = (guest: ShownGuest | null) => ({
  name: guest?.name ?? "",
  email: guest?.email ?? "",
  phone: guest?.phone ?? "",
  party_size: guest?.party_size ?? 1,
  note: guest?.note ?? "",
  flag: guest?.flag ?? "",
  /** The guest's own fields as one JSON text, because two forms are compared value by value. */
  fields: JSON.stringify(Object.entries(guest?.fields ?? {})),
  external_id: guest?.external_id ?? "",
  guest_list_id: guest?.guest_list_id ?? "",
});
type Form = ReturnType<typeof filled>;

/** Reads the text that [`filled`] made of a guest's own fields. */
export const ownFields = (text: string): [name: string, value: string][] => JSON.parse(text) as [string, string][];

/** The fields that a save sends: those that were changed in the form. An emptied field is `null`. */
export function changedFields(before: Form, after: Form): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(changes(before, after)).map(([field, value]) => {
      if (field === "fields") return [field, changedOwn(ownFields(before.fields), ownFields(after.fields))];
      return [field, field !== "name" && typeof value === "string" && value.trim() === "" ? null : value];
    }),
  );
}

/** The changes of a guest's own fields: from a name to its new value, or to `null` if it was removed. */
function changedOwn(before: readonly [string, string][], after: readonly [string, string][]): Record<string, string | null> {
  const now = new Map(after.map(([name, value]) => [name.trim(), value.trim()]).filter(([name]) => name !== "") as [string, string][]);
  const was = new Map(before);
  const gone = [...was.keys()].filter((name) => !now.get(name)).map((name): [string, null] => [name, null]);
  const set = [...now].filter(([name, value]) => value !== "" && was.get(name) !== value);
  return Object.fromEntries([...gone, ...set]);
}

/** The name in a list. An erased guest has no name, only a text that says so. */
export const nameOf = (guest: { name: string; erased_at: string | null }): string => (guest.erased_at === null ? guest.name : said.erasedName);
