/** The state of one event that somebody works on: details, gates, live numbers, and the decision that can still be undone. */
import { api, Problem } from "../../../shared/api/client";
import type { EventView, GateView, Listed } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser";
import { unknownGates } from "./devices";
import { Hold } from "./hold.svelte";
import { Live } from "./live.svelte";
import { beforeSignOut, readAgain, session } from "./session.svelte";

export class Desk {
  event = $state.raw<EventView | null>(null);
  gates = $state.raw<GateView[]>([]);
  failure = $state("");
  /** Whether the server has no such event, or none that this person may see. */
  missing = $state(false);
  readonly live: Live;
  readonly hold: Hold;
  /** Whether this role may read the event's numbers at all. */
  readonly watches: boolean;
  /** Unknown gates for which the list of gates was already read again. It is read once for each of them. */
  #askedFor = new Set<string>();
  #ends: () => void;

  constructor(readonly eventId: string) {
    const role = session.current?.role;
    this.watches = role !== "promoter";
    // Door staff may read the counts of persons, but neither phones nor cases.
    this.live = new Live(eventId, role === "door" ? ["occupancy"] : undefined);
    this.hold = new Hold(() => this.live.refreshNow());
    this.#ends = beforeSignOut(() => this.hold.flush());
    if (this.watches) this.live.open();
  }

  get base(): string {
    return Desk.base(this.eventId);
  }
  static base = (eventId: string): string => `/api/events/${encodeURIComponent(eventId)}`;
  /** The paths that `load` reads. The app reads them early, before there is a desk. */
  static paths = (eventId: string): [event: string, gates: string] => [Desk.base(eventId), `${Desk.base(eventId)}/gates`];

  async load(): Promise<void> {
    try {
      const [ofEvent, ofGates] = Desk.paths(this.eventId);
      const [event, gates] = await Promise.all([api.get<EventView>(ofEvent), api.get<Listed<GateView>>(ofGates)]);
      this.event = event;
      this.gates = gates.items;
      this.failure = "";
      this.missing = false;
    } catch (error) {
      this.missing = error instanceof Problem && (error.status === 404 || error.status === 403);
      if (this.missing) this.live.close();
      this.failure = (error as Error).message;
      readAgain(error, () => this.load());
    }
  }

  /** Shows the event that a save answered, and reads it again. If that fails, the answer stays. */
  async changed(saved?: EventView): Promise<void> {
    if (saved) this.event = saved;
    await this.load();
  }

  /** Reads the gates again if the counts name a gate that is not in the list. */
  lookForGates(): void {
    if (!this.event) return;
    const news = unknownGates(this.gates, this.live.occupancy, this.live.devices).filter((id) => !this.#askedFor.has(id));
    for (const id of news) this.#askedFor.add(id);
    if (news.length > 0) void this.load();
  }

  /** The cases that wait for a person, without those that were just decided in this app. */
  get toReview(): { count: number; words: string } {
    const count = this.live.incidents.filter((one) => this.hold.waits(one)).length;
    return { count, words: `${words.counting.number(count)}${this.live.moreIncidents ? "+" : ""}` };
  }

  gateName(id: string): string {
    return this.gates.find((gate) => gate.id === id)?.name ?? id;
  }

  close(): void {
    this.#ends();
    void this.hold.send();
    this.live.close();
  }
}
