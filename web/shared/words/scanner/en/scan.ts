/** The screen behind which all scanning goes on. */
import type { Around } from "../formats.ts";

export const letIn = (_persons: number): Around => ["", " let in here"];
export const list = (version: number) => `list ${version}`;
export const directions = { in: "In", out: "Out" };
export const turn = { in: "Direction: in. Change", out: "Direction: out. Change" };
export const practice = "Practice: nothing counts";
export const practiceWhy = "The organiser has not opened the doors yet.";
export const ended = "The event has ended.";
export const endedWhy = "Guests who leave can still be scanned out.";
export const keyUnknown = "The server does not know this device.";
export const keyUnknownWhy = "Nothing is erased; scans are kept here.";
export const actions = "Actions";
export const torch = "Torch";
export const torchOff = "Torch off";
export const search = "Search";
export const sync = "Sync";
export const last = "Last scan:";
export const holdTicket = "Hold a ticket in front of the camera";
export const whoScans = "Who is scanning?";
export const answerFirst = "Answer this first, then scan the next one.";
export const closeFirst = "Close this first, then scan the next one.";
export const scanAgain = "Scan the next one again.";
export const slow = "Storage is slow: wait.";
export const late = "Storage is slow: that ticket was not taken. Scan it again.";
