/** Checks a guest in from the office: the requests to the server, and texts for its answers. The drawer shows them. */
import type { CheckInAnswer, EventView, GateView, ShownGuest } from "../../../shared/api/types.ts";
import { words } from "../../../shared/words/organiser/index.ts";

const { guest, live } = words;
const { desk: said } = guest;

/** The device id that the server gives for scans from the office. */
export const OFFICE = "admit:office";

/** Gates that a check-in can count for. */
export const entryGates = (gates: readonly GateView[]): GateView[] => gates.filter((gate) => gate.direction !== "out");

/** Whether the drawer offers a check-in: the doors were opened, and the guest has a ticket. */
export const offered = (shown: Pick<ShownGuest, "ticket">, event: Pick<EventView, "status">): boolean =>
  shown.ticket !== null && event.status === "live";

/** The first number of persons in the form: those of the party who are still to come, but at least one. */
export const persons = (shown: Pick<ShownGuest, "party_size" | "actual_count">): number => Math.max(1, shown.party_size - shown.actual_count);

export interface Ask {
  gate_id: string;
  count: number;
  override_reason: string | null;
}

/** Gives each check-in its scan id. If no answer came, the same check-in is sent again under the same id, so that it counts once. */
export class Asking {
  #last: { id: string; of: string } | null = null;

  /** The body to send. */
  body(ask: Ask): Ask & { scan_id: string } {
    const of = JSON.stringify([ask.gate_id, ask.count, ask.override_reason]);
    if (this.#last?.of !== of) this.#last = { id: newId(), of };
    return { scan_id: this.#last.id, ...ask };
  }
  /** The server answered. So the next check-in gets a new id, even if it is for the same guest and number. */
  answered(): void {
    this.#last = null;
  }
}

/** 128 random bits. `randomUUID` is not used, because browsers offer it only to pages that came over HTTPS. */
const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The drawer's text for an answer. `at` formats a moment. */
export function answered(answer: CheckInAnswer, gate: string, at: (moment: string) => string): string {
  if (answer.opened) return said.done(answer.persons, gate);
  const why = live.reasons[answer.reason ?? ""] ?? guest.outcomes[answer.outcome] ?? guest.moments.refusedPlain;
  const before = answer.outcome === "duplicate" && answer.last_at !== null ? said.before(at(answer.last_at), answer.last_gate ?? "") : "";
  return said.refused(why) + before;
}
