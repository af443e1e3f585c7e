/** Finds for guests with the same name in a list a short text that tells them apart, from the data that the caller may see. */
import type { GuestView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

type Named = Pick<GuestView, "id" | "name" | "email" | "phone" | "order_id" | "guest_list" | "entry_type" | "external_id" | "ticket_id">;

/** How many last digits of a phone number are shown. */
const END = 4;
const folded = (name: string): string => name.normalize("NFKC").trim().replace(/\s+/g, " ").toLocaleLowerCase();
const local = (email: string): string => email.split("@")[0] ?? email;

/** The ends of codes that were read from the server, by ticket id. */
type Ends = Readonly<Record<string, string>>;
type Sign = (guest: Named, ends: Ends) => string;

/** The signs that may tell guests apart, the simplest first. A sign is empty if the guest lacks it. */
const SIGNS: readonly Sign[] = [
  ({ email }) => (email ? words.guests.apart.email(local(email)) : ""),
  ({ email }) => email ?? "",
  ({ order_id }) => (order_id ? words.guests.apart.order(order_id) : ""),
  ({ phone }) => (phone ? words.guests.apart.phone(phone.replace(/\D/g, "").slice(-END)) : ""),
  ({ guest_list }) => guest_list ?? "",
  ({ entry_type }) => entry_type ?? "",
  ({ external_id }) => (external_id ? words.guests.apart.reference(external_id) : ""),
  ({ ticket_id }, ends) => (ticket_id && ends[ticket_id] ? words.guests.apart.ticket(ends[ticket_id]) : ""),
];

/** Guests of one name, two or more. */
function namesakes(guests: readonly Named[]): Named[][] {
  const byName = new Map<string, Named[]>();
  for (const guest of guests) byName.set(folded(guest.name), [...(byName.get(folded(guest.name)) ?? []), guest]);
  return [...byName.values()].filter((same) => same.length > 1);
}

/** From a guest's id to the text under the name. Guests whose name nobody shares are left out. */
export function tellApart(guests: readonly Named[], ends: Ends = {}): Map<string, string> {
  const out = new Map<string, string>();
  for (const same of namesakes(guests)) {
    // If one kind of sign tells them all apart, it is used for all, because people can't compare signs of different kinds.
    const sign = SIGNS.find((of) => new Set(same.map((guest) => of(guest, ends))).size === same.length && same.every((guest) => of(guest, ends) !== ""));
    for (const guest of same) {
      const own = sign ? sign(guest, ends) : firstOwn(guest, same, ends);
      if (own !== "") out.set(guest.id, own);
    }
  }
  return out;
}

/** Used if no kind of sign tells all apart. Gives the first sign of the guest that no other of them has. */
function firstOwn(guest: Named, same: readonly Named[], ends: Ends): string {
  const others = same.filter((one) => one !== guest);
  const signs = SIGNS.map((of) => [of, of(guest, ends)] as const).filter(([, text]) => text !== "");
  return signs.find(([of, text]) => others.every((one) => of(one, ends) !== text))?.[1] ?? "";
}

/** The tickets of guests whom no known sign tells apart. The ends of their codes must be read. */
export function undecided(guests: readonly Named[]): string[] {
  const told = tellApart(guests);
  return namesakes(guests).flatMap((same) => (same.every(({ id }) => told.has(id)) ? [] : same.flatMap(({ ticket_id }) => ticket_id ?? [])));
}
