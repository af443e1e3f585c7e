/** The line on how this device stands with the server: parts in lower case. The screen gives the first a capital. */
import { count } from "./format.ts";

export const captive = "no real network";
export const offline = "offline";
export const suspended = "held by the server";
export const online = "online";
export const toSend = (scans: number) => `${count(scans)} to send`;
export const refused = (scans: number) => `${count(scans)} refused`;
export const notSaved = "app not saved";
/** A list holds until a while after the event's end, and no longer. */
export const listExpired = "the event's end has passed";
/** The same on the pill's face, which has room for two words a line. */
export const listExpiredShort = "past end time";
export const listAge = (span: string) => `list ${span}`;
export const listOld = (span: string) => `list ${span} old`;
export const newTickets = "new tickets coming";
