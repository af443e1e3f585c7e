/**
 * The decisions of an event, the newest first. Each reading fetches all shown decisions again, not only a further page. So a
 * decision that was made meanwhile comes first, and none is missing.
 */
import type { IncidentView } from "../../../shared/api/types";
import { latest } from "./latest.ts";
import { allOf } from "./whole-list.ts";

/** The number of decisions that are shown at first, and that each "more" adds. */
export const STEP = 50;

export class Decided {
  items = $state.raw<IncidentView[]>([]);
  /** Whether there are more decisions than are shown. */
  more = $state(false);
  /** Whether the list was read. Only then does an empty list mean that there are no decisions. */
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
