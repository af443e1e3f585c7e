import type { View } from "../../../shared/core/engine.ts";

/** The name of a ticket's zone for staff: the name of its entry type, or the zone itself if the list has no name for it. */
export function typeName(zone: string, view: Pick<View, "zone_names"> | null): string {
  const names = view?.zone_names ?? {};
  return Object.hasOwn(names, zone) ? (names[zone] ?? zone) : zone;
}
