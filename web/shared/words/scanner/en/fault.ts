/** The screen of a device that cannot scan. */
import type { Around } from "../formats.ts";
import { plural } from "./format.ts";

export const storage = {
  title: "This browser gives no storage",
  text: "A scan that can't be stored is never shown as good, so this device cannot scan. Leave private browsing, or free some space.",
};
export const core = { title: "The scanner did not start", text: "Scans taken before are safe." };
export const revoked = {
  title: "This device was revoked",
  text: "The organiser ended its access. The guest list is erased here; scans it took are still handed over, and can be saved as a file. An organiser can let it in again: Pair again, then show its own code.",
};
export const erased = {
  title: "This browser erased the record",
  text: "Somebody cleared this site's data, or the browser did. What was scanned before is only in this window now: save it as a file before you close or reload anything, and give the file to the organiser.",
};
export const blocked = {
  title: "Storage is blocked",
  text: "This device can't record scans now, so it admits nobody. What was scanned before is safe.",
};
/** The exact fault. `error`: the message of the browser or the core. */
export const details = {
  error: (error: string) => error,
  no_engine: () => "the scanner's engine did not start",
  no_lock: (error: string) => `No lock: ${error}`,
  journal_closed: () => "the journal cannot be opened",
  journal_held: () => "the journal is held by an older page",
  journal_unread: () => "the journal cannot be read",
  journal_failed: () => "the transaction failed",
};
export const unsent = (scans: number): Around => [
  "",
  plural(scans, { one: " scan not yet handed over.", other: " scans not yet handed over." }),
];
export const handOver = "Hand over now";
export const startAgain = "Start again";
export const saveFile = "Export scans as a file";
