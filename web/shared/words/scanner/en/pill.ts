/** The status line about this device and the server. Its parts are in lower case; the screen makes the first letter a capital. */
import { count } from "./format.ts";

export const captive = "no real network";
export const offline = "offline";
export const suspended = "held by the server";
export const online = "online";
export const toSend = (scans: number) => `${count(scans)} to send`;
export const refused = (scans: number) => `${count(scans)} refused`;
export const notSaved = "app not saved";
/** The list has expired. A list expires some hours after the event's end. */
export const listExpired = "the event's end has passed";
/** The same for the small status label, which has room for two words per line. */
export const listExpiredShort = "past end time";
export const listAge = (span: string) => `list ${span}`;
export const listOld = (span: string) => `list ${span} old`;
export const newTickets = "new tickets coming";
