/** The pages of an event in the order of the work, and the roles that see them. The server itself refuses what a role may not read. */
import type { Role } from "../../../shared/api/types";

export type Place = "overview" | "live" | "review" | "guests" | "tickets" | "passes" | "import" | "gates" | "devices" | "report";

const EVERYONE: readonly Role[] = ["owner", "manager", "viewer"];
const MANAGERS: readonly Role[] = ["owner", "manager"];

/** `time`: when the page is used: `now` at any time, `before` the doors open, or `after` the event. */
export const PLACES: readonly { id: Place; roles: readonly Role[]; time: "now" | "before" | "after" }[] = [
  { id: "overview", roles: EVERYONE, time: "now" },
  { id: "live", roles: [...EVERYONE, "door"], time: "now" },
  { id: "review", roles: EVERYONE, time: "now" },
  { id: "guests", roles: [...EVERYONE, "promoter"], time: "now" },
  { id: "tickets", roles: EVERYONE, time: "now" },
  { id: "passes", roles: EVERYONE, time: "now" },
  { id: "import", roles: [...MANAGERS, "promoter"], time: "before" },
  { id: "gates", roles: EVERYONE, time: "before" },
  { id: "devices", roles: EVERYONE, time: "before" },
  { id: "report", roles: EVERYONE, time: "after" },
];

/** The preferred tabs at the bottom of a phone. */
const TABS: readonly Place[] = ["live", "review", "guests", "devices"];

export const placesOf = (role: Role) => PLACES.filter((place) => place.roles.includes(role));

/** Up to four tabs. If a role sees fewer of the preferred ones, the first other pages that it sees follow. */
export function tabsOf(role: Role): Place[] {
  const seen = placesOf(role).map((place) => place.id);
  const daily = TABS.filter((id) => seen.includes(id));
  return [...daily, ...seen.filter((id) => !daily.includes(id))].slice(0, Math.max(daily.length, Math.min(seen.length, 2)));
}

export interface Address {
  eventId: string;
  place: Place;
}

/** The event id in an address, without a check of rights. `null`: the address names none. */
export function eventOf(path: string): string | null {
  const id = /^\/events\/([^/]+)/.exec(path)?.[1];
  if (id === undefined) return null;
  try {
    return decodeURIComponent(id);
  } catch {
    return null;
  }
}

/** The event and page of an address. Without a page it is the role's first page. `null`: there is no such page for this role. */
export function readAddress(path: string, role: Role): Address | null {
  const [known, named] = /^\/events\/[^/]+(?:\/([a-z]+))?$/.exec(path) ?? [];
  const seen = placesOf(role);
  const place = seen.find((one) => one.id === (named ?? seen[0]?.id));
  const eventId = eventOf(path);
  return known === undefined || eventId === null || !place ? null : { eventId, place: place.id };
}

export const address = (eventId: string, place: Place): string => `/events/${encodeURIComponent(eventId)}/${place}`;
