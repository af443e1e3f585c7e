/** A guest's story in words; the server says what happened. */
import type { EventView, GuestView, MomentView, ShownGuest } from "../../../shared/api/types";
import { changes } from "./changes.ts";
import { entries } from "./counts.ts";

const FIELDS: Record<string, string> = {
  name: "name",
  email: "e-mail",
  phone: "phone",
  note: "note",
  flag: "flag for the door",
  external_id: "own id",
  party_size: "party",
  entry_limit: "party",
  guest_list_id: "list",
  status: "whether the ticket is good",
  zone: "zone",
  gate_ids: "gates",
  valid_from: "start of the ticket",
  expires_at: "end of the ticket",
};
const OUTCOMES: Record<string, string> = {
  duplicate: "already in",
  invalid: "ticket not good",
  gate_access_denied: "wrong gate",
  expired: "wrong time",
  valid: "nobody went in",
};
const persons = (count: number): string => (count === 1 ? "1 person" : `${count} persons`);

/** What happened, without when. */
export function told(moment: MomentView): string {
  const by = moment.by ? ` by ${moment.by}` : "";
  const place = moment.gate ? ` at ${moment.gate}` : "";
  const device = moment.device ? ` (${moment.device})` : "";
  const counted = moment.counts ? "" : ", not counted";
  const hand = moment.by_hand ? ", found by name" : "";
  switch (moment.what) {
    case "added":
      return `Added${by}`;
    case "changed": {
      const fields = moment.fields.map((field) => FIELDS[field] ?? field.replaceAll("_", " "));
      return `Changed${by}${fields.length > 0 ? `: ${fields.join(", ")}` : ""}`;
    }
    case "received":
      return "Told by your own database";
    case "row_deleted":
      return "Deleted in your own database; the ticket stays good until somebody voids it";
    case "resent":
      return `Pass sent again${by}`;
    case "remade":
      return `Pass asked for again${by}: there is no e-mail address, so nothing was sent`;
    case "opened":
      return "Pass opened for the first time";
    case "entered":
      return `Let in ${persons(moment.persons)}${place}${device}${hand}${by}${counted}`;
    case "left":
      return `Let out ${persons(moment.persons)}${place}${device}${hand}${by}${counted}`;
    case "undone":
      return `Undone${place}${device}${by}`;
    case "refused":
      return `Not let in${place}${device}: ${OUTCOMES[moment.outcome ?? ""] ?? moment.outcome ?? "refused"}${hand}${by}`;
  }
}

/** Where a guest stands, in a few words: whose ticket is not good is not expected. */
export function standing(guest: GuestView, event: Pick<EventView, "re_entry">): string {
  if (guest.ticket_status && guest.ticket_status !== "active") return guest.ticket_status;
  if (guest.status === "no_show") return "did not come";
  if (guest.status === "pending") return "expected";
  if (guest.party_size > 1 && event.re_entry !== "never") return `${entries(guest.actual_count)}, for ${guest.party_size}`;
  return guest.party_size > 1 ? `${guest.actual_count} of ${guest.party_size} in` : "in";
}

/** How the mail of a guest's pass stands; empty where there is nothing to tell. */
export function mailWords({ mail }: Pick<GuestView, "mail">): string {
  if (mail === null) return "";
  if (mail.state === "sent") return "sent";
  const why = mail.why === null ? "" : `: ${mail.why}`;
  if (mail.state === "waiting") return why === "" ? "on its way" : `waits to be tried again${why}`;
  return `not sent${why}`;
}

/**
 * A text message with the pass, for a guest without e-mail; `?&body=` is what both Android and iOS read. "+49 (0)170" is
 * how people write a number for both sides of a border: abroad the zero is not dialled.
 */
export function smsLink(phone: string, text: string): string {
  const number = phone.trim().startsWith("+") ? phone.replace(/\(\s*0\s*\)/g, "") : phone;
  return `sms:${number.replace(/[^\d+]/g, "")}?&body=${encodeURIComponent(text)}`;
}

/** A guest as the form has them; `null` before they are read. */
export const filled = (guest: ShownGuest | null) => ({
  name: guest?.name ?? "",
  email: guest?.email ?? "",
  phone: guest?.phone ?? "",
  party_size: guest?.party_size ?? 1,
  note: guest?.note ?? "",
  flag: guest?.flag ?? "",
  external_id: guest?.external_id ?? "",
  guest_list_id: guest?.guest_list_id ?? "",
});
type Form = ReturnType<typeof filled>;

/** What a save sends: the fields that were changed in the form, an emptied one as `null`. */
export function changedFields(before: Form, after: Form): Record<string, string | number | null> {
  return Object.fromEntries(
    Object.entries(changes(before, after)).map(([field, value]) => [
      field,
      field !== "name" && typeof value === "string" && value.trim() === "" ? null : value,
    ]),
  );
}
