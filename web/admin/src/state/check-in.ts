/** A guest checked in from the office: what is asked of the server, and its answer in words. Pure: the drawer only shows it. */
import type { CheckInAnswer, EventView, GateView, ShownGuest } from "../../../shared/api/types.ts";
import { words } from "../../../shared/words/organiser/index.ts";

const { guest, live } = words;
const { desk: said } = guest;

/** The author of scans from the office, where the server names devices. */
export const OFFICE = "admit:office";

/** Gates that a check-in can count for. */
export const entryGates = (gates: readonly GateView[]): GateView[] => gates.filter((gate) => gate.direction !== "out");

/** Whether the drawer offers it: doors were opened, and there is a ticket to scan. */
export const offered = (shown: Pick<ShownGuest, "ticket">, event: Pick<EventView, "status">): boolean =>
  shown.ticket !== null && event.status === "live";

/** How many persons the form begins with: those of the party who are still to come, at least one. */
export const persons = (shown: Pick<ShownGuest, "party_size" | "actual_count">): number => Math.max(1, shown.party_size - shown.actual_count);

export interface Ask {
  gate_id: string;
  count: number;
  override_reason: string | null;
}

/** A check-in that got no answer is sent again under its own id, so that it counts once; another one gets a new id. */
export class Asking {
  #last: { id: string; of: string } | null = null;

  /** The body to send. */
  body(ask: Ask): Ask & { scan_id: string } {
    const of = JSON.stringify([ask.gate_id, ask.count, ask.override_reason]);
    if (this.#last?.of !== of) this.#last = { id: newId(), of };
    return { scan_id: this.#last.id, ...ask };
  }
  /** The server answered: the next check-in is another one, even if it asks for the same. */
  answered(): void {
    this.#last = null;
  }
}

/** 128 random bits; `randomUUID` is missing where the page did not come by HTTPS. */
const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the drawer says of an answer. `at` writes a moment. */
export function answered(answer: CheckInAnswer, gate: string, at: (moment: string) => string): string {
  if (answer.opened) return said.done(answer.persons, gate);
  const why = live.reasons[answer.reason ?? ""] ?? guest.outcomes[answer.outcome] ?? guest.moments.refusedPlain;
  const before = answer.outcome === "duplicate" && answer.last_at !== null ? said.before(at(answer.last_at), answer.last_gate ?? "") : "";
  return said.refused(why) + before;
}
