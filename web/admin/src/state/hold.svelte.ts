/**
 * The decision that was made last, held for a few seconds so that it can be taken back. It belongs to the event's page and
 * not to a tab of it: a session that ended must not lose it, nor a sign-out.
 */
import { api, Problem } from "../../../shared/api/client";
import type { IncidentView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser";
import { type Decision, decidedScans } from "./review";
import { onceSignedIn, session } from "./session.svelte";

/** A decision is sent when this has passed, or at the next one, or on leaving: until then it is taken back by Undo. */
export const UNDO_MS = 8_000;

export interface Held {
  incident: IncidentView;
  decision: Decision;
  /** What was chosen, as its button says it. */
  words: string;
  /** What the case is, as its row says it. */
  title: string;
  note: string;
}

export class Hold {
  held = $state.raw<Held | null>(null);
  /** Those the session ended under: they are sent when the same person is back. */
  unsent = $state.raw<Held[]>([]);
  failure = $state("");
  /** Sent, as it stood then, and not yet gone from what the stream last said. */
  #sent = $state<Record<string, string>>({});
  #going = new Set<Promise<boolean>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly sentOne: () => Promise<void>) {}

  /** Whether a card is still to be decided. */
  waits(incident: IncidentView): boolean {
    const mine = [this.held, ...this.unsent].some((one) => one?.incident.id === incident.id);
    return !mine && this.#sent[incident.id] !== incident.updated_at;
  }

  /** Holds a decision; the one before it is sent. */
  decide(decision: Held): void {
    this.failure = "";
    void this.send();
    this.held = decision;
    this.#timer = setTimeout(() => void this.send(), UNDO_MS);
  }

  /** Takes the held decision back. */
  undo(): void {
    clearTimeout(this.#timer);
    this.held = null;
  }

  /** Nothing is decided that nobody saw: an incident that changed while its decision was held is shown again. */
  look(open: readonly IncidentView[]): void {
    const held = this.held;
    const now = held && open.find((one) => one.id === held.incident.id);
    if (!held || !now || now.updated_at === held.incident.updated_at) return;
    this.undo();
    this.failure = words.review.changedSince(held.words, held.title);
  }

  /** Sends what is held; whether nothing was lost. */
  async send(): Promise<boolean> {
    clearTimeout(this.#timer);
    const one = this.held;
    if (!one) return true;
    this.held = null;
    const going = this.#record(one);
    this.#going.add(going);
    return going.finally(() => this.#going.delete(going));
  }

  /** Sends what is held and waits for what is on its way; fails where something could not be recorded. */
  async flush(): Promise<void> {
    void this.send();
    const recorded = await Promise.all(this.#going);
    if (recorded.includes(false)) throw new Error(this.failure);
  }

  async #record(one: Held): Promise<boolean> {
    // Whoever signs in next may be another: it is not recorded in their name.
    if (session.lost) {
      this.#keep(one);
      return false;
    }
    const { id, updated_at } = one.incident;
    this.#sent[id] = updated_at;
    let recorded = true;
    try {
      const scans =
        one.decision === "note" ? undefined : decidedScans(one.incident).map(({ device_id, scan_id }) => ({ device_id, scan_id }));
      await api.post(`/api/incidents/${encodeURIComponent(id)}/resolve`, { decision: one.decision, scans, note: one.note });
    } catch (error) {
      recorded = false;
      delete this.#sent[id];
      if (error instanceof Problem && error.status === 401) this.#keep(one);
      else this.failure = words.review.notRecorded(one.words, (error as Error).message);
    }
    await this.sentOne();
    return recorded;
  }

  #keep(one: Held): void {
    this.failure = words.review.waitsForSignIn(one.words);
    this.unsent = [...this.unsent, one];
    onceSignedIn(() => {
      this.unsent = this.unsent.filter((other) => other !== one);
      this.failure = "";
      void this.#record(one);
    });
  }
}
