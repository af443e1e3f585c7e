/** The sheet that shows which scans the server has received. */
import { count, plural } from "./format.ts";

export const title = "Sync";
export const now = "Sync now";
export const syncing = "Syncing";
export const syncingScans = (scans: number) =>
  plural(scans, { one: "Syncing 1 scan", other: `Syncing ${count(scans)} scans` });
export const exportUnsent = "Export unsent scans";
export const exportAll = "Export all scans";
export const captive = "This network answers in the server's place (a sign-in page?). Scans are kept until the real one is back.";
export const suspended = "The organiser's server holds this device's uploads until somebody counts them. Go on scanning.";
export const sending = (syncing: string) => `${syncing}. Scanning goes on.`;
export const allSent = "All scans sent.";
export const retry = (span: string) => `The server did not answer. Next try in ${span}.`;
export const turn = "Waiting for its turn.";
export const offline = "No network. Scanning goes on; scans are kept here until it returns.";
export const progress = "Scans with the server";
export const done = (done: number, total: number) => `${count(done)} of ${count(total)} are with the server.`;
export const waiting = "Waiting";
export const lastReceipt = "Last sync";
export const noReceipt = "None yet";
export const receipt = (span: string, time: string) => `${span} ago, ${time}`;
export const list = "Guest list";
export const noList = "None yet";
/**
 * `age`: the time since the server last said that the list is the newest. Empty: this was just now. Null: this was just now, and the
 * phone is online.
 */
export const listState = (age: string | null) =>
  age === null ? "Up to date" : age === "" ? "Last checked just now" : `Last checked ${age} ago`;
export const newer = "New tickets are on their way";
export const expired = (time: string) => `Out of date since ${time}: ask the organiser`;
export const clock = "Clock";
export const noClock = "Not compared yet";
export const starts = "Start without a network";
/** Whether the app starts without a network. */
export const kept = {
  kept: "Ready",
  coming: "Not yet: the app is being saved on this phone",
  missing:
    "Not yet: the app could not be saved on this phone. Leave it open while there is a network; it tries again by itself.",
  never: "No: this browser cannot save the app. Scanning goes on without a network as long as this page stays open.",
};
export const storage = "Storage";
export const persisted = "Kept by the browser";
export const notPersisted = "May be cleared by the browser when space is short";
export const persistenceUnknown = "This browser does not say whether it keeps it";
/** Exact figures, for a person who helps the door staff. */
export const details = "Details";
export const version = "List version";
/** `newer`: the version that the server has; null: no newer one. */
export const versions = (version: number, newer: number | null) => (newer === null ? `${version}` : `${version}; ${newer} is on its way`);
export const codes = "Codes in the list";
export const clockOffset = (offsetMs: number, uncertaintyMs: number) =>
  `${offsetMs > 0 ? "+" : ""}${count(offsetMs)} ms ± ${count(uncertaintyMs)} ms`;
export const appSaved = "App saved";
export const savedState = { kept: "yes", coming: "not yet", missing: "not yet", never: "no" };
/** The list of scans that the server does not have yet, and the number of scans that it leaves out. */
export const waitingScans = "Waiting scans";
export const waitingMore = (scans: number) => plural(scans, { one: "1 earlier scan waits too.", other: `${count(scans)} earlier scans wait too.` });
export const problems = "Refused by the server";
export const problemsHint = "These stay in this device's record and in exports; hiding only clears this list.";
/** From the server's reason for a rejected scan to a text. */
export const causes = {
  malformed: "The server could not read it",
  mixed_events: "It belongs to another event",
  device_mismatch: "It belongs to another device",
  unknown_event: "The server does not know its event",
  quota: "The server keeps no more scans of this device",
};
export const otherCause = (reason: string) => `The server refused it: ${reason}`;
export const copyKept = "the server keeps a copy";
export const noCopy = "the server keeps no copy: export it";
export const hide = "Hide";
