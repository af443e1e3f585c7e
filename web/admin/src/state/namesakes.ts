/** Guests of one name in a list: the least of each that tells them apart at a glance, of what the caller may see. */
import type { GuestView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

type Named = Pick<GuestView, "id" | "name" | "email" | "phone" | "order_id" | "guest_list" | "entry_type" | "external_id" | "ticket_id">;

/** As many figures of a number or an id are told apart by a person. */
const END = 4;
const folded = (name: string): string => name.normalize("NFKC").trim().replace(/\s+/g, " ").toLocaleLowerCase();
const local = (email: string): string => email.split("@")[0] ?? email;

/** The ends of tickets' codes that were asked for, by ticket. */
type Ends = Readonly<Record<string, string>>;
type Sign = (guest: Named, ends: Ends) => string;

/** What may tell them apart, the plainest first; empty where a guest has none of it. */
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

/** By guest: what stands under the name. Whose name nobody shares is not in it. */
export function tellApart(guests: readonly Named[], ends: Ends = {}): Map<string, string> {
  const out = new Map<string, string>();
  for (const same of namesakes(guests)) {
    // One kind of sign for all of them where one will do: two signs of different kinds can't be compared.
    const sign = SIGNS.find((of) => new Set(same.map((guest) => of(guest, ends))).size === same.length && same.every((guest) => of(guest, ends) !== ""));
    for (const guest of same) {
      const own = sign ? sign(guest, ends) : firstOwn(guest, same, ends);
      if (own !== "") out.set(guest.id, own);
    }
  }
  return out;
}

/** Without such a kind, the first sign that is nobody else's: what several share tells nobody apart. */
function firstOwn(guest: Named, same: readonly Named[], ends: Ends): string {
  const others = same.filter((one) => one !== guest);
  const signs = SIGNS.map((of) => [of, of(guest, ends)] as const).filter(([, text]) => text !== "");
  return signs.find(([of, text]) => others.every((one) => of(one, ends) !== text))?.[1] ?? "";
}

/** Tickets whose codes' ends are needed to tell their guests apart: nothing else that is known differs. */
export function undecided(guests: readonly Named[]): string[] {
  const told = tellApart(guests);
  return namesakes(guests).flatMap((same) => (same.every(({ id }) => told.has(id)) ? [] : same.flatMap(({ ticket_id }) => ticket_id ?? [])));
}
