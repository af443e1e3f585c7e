/** Texts for the rows of entry types. */
import type { EntryTypeView, GateView, TicketView } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

/** The names of the gates that admit the entry type. */
export function gatesOf(type: Pick<EntryTypeView, "zone">, gates: readonly Pick<GateView, "name" | "zones">[]): string {
  const named = gates.filter((gate) => gate.zones.includes(type.zone)).map((gate) => gate.name);
  return named.length === 0 ? words.gates.noGate : words.counting.list(named);
}

/** A short text that says how often guests of the type may enter. */
export function entriesOf(type: Pick<EntryTypeView, "re_entry" | "per_gate" | "uses">): string {
  const { gates } = words;
  const parts = [
    ...(type.re_entry === null ? [] : [gates.reEntries[type.re_entry]]),
    ...(type.per_gate ? [gates.perGateShort] : []),
    ...(type.uses === null ? [] : [gates.usesShort(type.uses)]),
  ];
  return parts.length === 0 ? gates.asEventShort : parts.join(", ");
}

/** The name for a ticket: the entry type of its zone. If several types or none have the zone, it is the zone itself. */
export function typeOf(ticket: Pick<TicketView, "zone">, types: readonly Pick<EntryTypeView, "name" | "zone">[]): string {
  const having = types.filter((type) => type.zone === ticket.zone);
  return having.length === 1 ? (having[0]?.name ?? ticket.zone) : ticket.zone;
}

/** The gates that admit a ticket: those that it names, or if it names none, those that admit its zone. */
export function gatesOfTicket(ticket: Pick<TicketView, "zone" | "gate_ids">, gates: readonly Pick<GateView, "id" | "name" | "zones">[]): string {
  if (ticket.gate_ids.length === 0) return gatesOf(ticket, gates);
  return words.counting.list(ticket.gate_ids.map((id) => gates.find((gate) => gate.id === id)?.name ?? id));
}

/** Whether a gate admits a ticket: it names the gate, or names none and the gate admits its zone. */
export const admitsAt = (gate: Pick<GateView, "id" | "zones">, ticket: Pick<TicketView, "zone" | "gate_ids">): boolean =>
  ticket.gate_ids.length === 0 ? gate.zones.includes(ticket.zone) : ticket.gate_ids.includes(gate.id);
