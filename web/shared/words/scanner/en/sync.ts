/** What is with the server and what is not. */
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
export const noReceipt = "none yet";
export const receipt = (span: string, time: string) => `${span} ago, ${time}`;
export const list = "List";
export const noList = "none";
/** `age`: how long ago it was last compared with the server's; empty: just now; null: just now, and the server is there. */
export const listState = (age: string | null) => (age === null ? "right" : age === "" ? "last checked just now" : `last checked ${age} ago`);
export const details = "Details";
export const listDetails = (version: number, codes: number) => `List version ${version}, ${count(codes)} codes.`;
export const newer = (version: number) => `New tickets: version ${version} is on its way`;
export const expired = (time: string) => `out of date since ${time}`;
export const clock = "Clock";
export const noClock = "not compared yet";
/** The phone's clock may be wrong: times are the server's all the same. A second is what nobody sees. */
export const clockState = (offsetMs: number) => (Math.abs(offsetMs) < 1_000 ? "right" : `${count(Math.round(Math.abs(offsetMs) / 1_000))} s ${offsetMs > 0 ? "slow" : "fast"}, corrected`);
export const clockDetails = (offsetMs: number, uncertaintyMs: number) =>
  `Server's clock minus this phone's: ${offsetMs > 0 ? "+" : ""}${count(offsetMs)} ms ± ${count(uncertaintyMs)} ms.`;
export const starts = "Starts without a network";
/** Whether the app starts without a network. */
export const kept = {
  kept: "yes",
  coming: "not yet: the app is being saved on this phone",
  missing:
    "not yet: the app could not be saved on this phone. Leave it open while there is a network; it tries again by itself.",
  never: "no: this browser cannot save the app. Scanning goes on without a network as long as this page stays open.",
};
export const storage = "Storage";
export const persisted = "kept by the browser";
export const notPersisted = "may be cleared by the browser when space is short";
export const persistenceUnknown = "this browser does not say whether it keeps it";
/** The scans that the server does not have yet, and how many of them are not in the list below. */
export const waitingScans = "Waiting scans";
export const waitingMore = (scans: number) => plural(scans, { one: "1 earlier scan waits too.", other: `${count(scans)} earlier scans wait too.` });
export const problems = "Refused by the server";
export const problemsHint = "These stay in this device's record and in exports; hiding only clears this list.";
/** By the server's reason. */
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
