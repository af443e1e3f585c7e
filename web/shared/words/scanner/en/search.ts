/** Finding a guest by name, and taking a ticket's code by hand. */
import { count, plural } from "./format.ts";

export const title = "Search";
export const label = "Name, or the code on the ticket";
/** Shown if this device holds no names. */
export const codeTitle = "Type a code";
export const codeLabel = "Code on the ticket";
export const codeHint = "This device holds no names. Type the whole code as it is printed.";
/** The button that uses the typed text as a ticket's code. */
export const takeCode = "Check this code";
export const asCode = "As a ticket's code";
export const recent = "Last on this device";
export const loading = "The names are on their way to this device.";
export const held = (guests: number) => `${plural(guests, { one: "One guest", other: `${count(guests)} guests` })} on this device. Accents make no difference.`;
export const found = (guests: number) => `${guests} found`;
export const nobody = "No guest of that name is on this device.";
export const more = "More guests match: type more of the name.";
export const letOut = "Let out";
export const open = "Open";
export const someIn = (persons: number, party: number) => `${persons} of ${party} in`;
export const party = (persons: number) => `Party of ${persons}`;
export const expected = "Expected";
export const allIn = (party: number) => `All ${party} in`;
export const alreadyIn = "Already in";
/** From a reason of the core to a text that says why a guest may not go in. */
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
