/** The pages of an event, each in a script of its own. */
import type { Component } from "svelte";
import type { EventView } from "../../../shared/api/types";
import type { Desk } from "../state/desk.svelte";
import type { Place } from "../state/places";

/** A page of an event, with the properties that each gets. */
type OfEvent = Component<{ desk: Desk; event: EventView }>;

export const places: Record<Place, () => Promise<{ default: OfEvent }>> = {
  overview: () => import("./Overview.svelte"),
  live: () => import("./LiveView.svelte"),
  review: () => import("./Review.svelte"),
  guests: () => import("./Guests.svelte"),
  tickets: () => import("./Tickets.svelte"),
  passes: () => import("./Passes.svelte"),
  import: () => import("./Import.svelte"),
  gates: () => import("./Gates.svelte"),
  devices: () => import("./Devices.svelte"),
  report: () => import("./Report.svelte"),
};
