/**
 * Holds the last decision for a few seconds before it is sent, so that Undo can take it back. It belongs to the event and not to
 * one of its pages. So neither the end of a session nor a sign-out loses it.
 */
import { api, Problem } from "../../../shared/api/client";
import type { IncidentView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser";
import { type Decision, decidedScans } from "./review";
import { onceSignedIn, session } from "./session.svelte";

/** A held decision is sent after this time, at the next decision, or when the page is left, milliseconds. Until then Undo takes it back. */
export const UNDO_MS = 8_000;

export interface Held {
  incident: IncidentView;
  decision: Decision;
  /** The text of the button that was pressed. */
  words: string;
  /** The title of the case in its row. */
  title: string;
  note: string;
}

export class Hold {
  held = $state.raw<Held | null>(null);
  /** Decisions that could not be sent because the session was over. They are sent when the same person signs in again. */
  unsent = $state.raw<Held[]>([]);
  failure = $state("");
  /** Sent decisions: from an incident's id to its `updated_at` at that time. Incidents with that version no longer wait. */
  #sent = $state<Record<string, string>>({});
  #going = new Set<Promise<boolean>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly sentOne: () => Promise<void>) {}

  /** Whether an incident still waits for a decision. */
  waits(incident: IncidentView): boolean {
    const mine = [this.held, ...this.unsent].some((one) => one?.incident.id === incident.id);
    return !mine && this.#sent[incident.id] !== incident.updated_at;
  }

  /** Holds a decision, and sends the one before it. */
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

  /** Cancels the held decision if its incident has changed since. The incident is shown again, because nobody has seen the change. */
  look(open: readonly IncidentView[]): void {
    const held = this.held;
    const now = held && open.find((one) => one.id === held.incident.id);
    if (!held || !now || now.updated_at === held.incident.updated_at) return;
    this.undo();
    this.failure = words.review.changedSince(held.words, held.title);
  }

  /** Sends the held decision. Gives whether it was recorded. */
  async send(): Promise<boolean> {
    clearTimeout(this.#timer);
    const one = this.held;
    if (!one) return true;
    this.held = null;
    const going = this.#record(one);
    this.#going.add(going);
    return going.finally(() => this.#going.delete(going));
  }

  /** Sends the held decision, and waits for all that are being sent. Fails if one could not be recorded. */
  async flush(): Promise<void> {
    void this.send();
    const recorded = await Promise.all(this.#going);
    if (recorded.includes(false)) throw new Error(this.failure);
  }

  async #record(one: Held): Promise<boolean> {
    // Another person may sign in next, and the decision must not be recorded in their name.
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
