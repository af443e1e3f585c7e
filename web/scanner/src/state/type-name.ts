import type { View } from "../../../shared/core/engine.ts";

/** How staff call a ticket's zone: by its entry type's name, or by itself where the list has none. */
export function typeName(zone: string, view: Pick<View, "zone_names"> | null): string {
  const names = view?.zone_names ?? {};
  return Object.hasOwn(names, zone) ? (names[zone] ?? zone) : zone;
}
