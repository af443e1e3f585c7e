/** Finding a guest by name. */
import { count } from "./format.ts";

export const title = "Find a guest";
export const label = "Name, or a part of it";
export const loading = "The names are on their way to this device.";
export const held = (guests: number) => `${count(guests)} guests on this device. Accents make no difference.`;
export const found = (guests: number) => `${guests} found`;
export const nobody = "Nobody of that name is on this device's list.";
export const more = "More guests match: type more of the name.";
export const letOut = "Let out";
export const open = "Open";
export const someIn = (persons: number, party: number) => `${persons} of ${party} in`;
export const party = (persons: number) => `Party of ${persons}`;
export const expected = "Expected";
export const allIn = (party: number) => `All ${party} in`;
export const alreadyIn = "Already in";
/** Why a guest may not go in, by the core's reason. */
export const stopped = {
  ticket_voided: "Cancelled",
  ticket_refunded: "Refunded",
  ticket_already_used: "Marked as used",
  unknown_code: "Ticket not here yet",
  expired: "Too late",
  not_yet_valid: "Too early",
  wrong_gate: "Wrong gate",
  gate_access_denied: "Wrong gate",
};
export const notNow = "Not now";
