/**
 * What was decided at an event, the newest first, as the server orders it. What is shown grows at its end and is read anew
 * as a whole: a decision made meanwhile comes on top and leaves no hole.
 */
import type { IncidentView } from "../../../shared/api/types";
import { latest } from "./latest.ts";
import { allOf } from "./whole-list.ts";

/** So many are shown at first, and so many more each time somebody asks. */
export const STEP = 50;

export class Decided {
  items = $state.raw<IncidentView[]>([]);
  /** There are more than are shown. */
  more = $state(false);
  /** Whether the list was read: an empty one is only then a fact. */
  known = $state(false);
  failure = $state("");
  #wanted = STEP;
  #begin = latest();

  constructor(readonly eventId: string) {}

  async load(): Promise<void> {
    const current = this.#begin();
    try {
      const path = `/api/events/${encodeURIComponent(this.eventId)}/incidents?decided=1`;
      const read = await allOf<IncidentView>(path, this.#wanted);
      if (!current()) return;
      this.items = read.items;
      this.more = read.more;
      this.known = true;
      this.failure = "";
    } catch (error) {
      if (current()) this.failure = (error as Error).message;
    }
  }

  async showMore(): Promise<void> {
    this.#wanted = this.items.length + STEP;
    await this.load();
  }
}
