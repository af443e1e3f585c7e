/** The main screen, on which staff scan. */
import type { Around } from "../formats.ts";

export const letIn = (_persons: number): Around => ["", " let in here"];
export const directions = { in: "In", out: "Out" };
export const turn = { in: "Direction: in. Change", out: "Direction: out. Change" };
export const practice = "Practice: nothing counts";
/** Used before another sentence. */
export const practiceStop = `${practice}.`;
export const practiceWhy = "The organiser has not opened the doors yet.";
/** The title of the screen that replaces the camera, and the first sentence of the banner. */
export const endedTitle = "The event has ended";
export const ended = `${endedTitle}.`;
export const endedWhy = "Guests who leave can still be scanned out.";
export const endedAdmit = "Let someone in with the PIN";
export const endedHow = "Scan the ticket, then tap “Admit anyway”.";
export const endedOut = "Scan guests out";
export const keyUnknown = "The server does not know this device.";
export const keyUnknownWhy = "Nothing is erased; scans are kept here.";
export const actions = "Actions";
export const torch = "Torch";
/** How many times the picture is enlarged. */
export const zoom = (factor: number) => `${factor}×`;
export const zoomLabel = (factor: number) => `Zoom, ${factor} times now`;
export const search = "Search";
export const last = "Last scan:";
/** The full label of the button that undoes the last scan: the kind of scan and the guest. */
export const undo = (title: string, guest: string) => (guest === "" ? `Undo ${title}` : `Undo ${title}, ${guest}`);
export const holdTicket = "Hold a ticket in front of the camera";
export const noCamera = "Type a code, or use a hardware scanner";
export const whoScans = "Who is scanning?";
export const answerFirst = "Answer this first, then scan the next one.";
export const closeFirst = "Close this first, then scan the next one.";
export const scanAgain = "Scan the next one again.";
export const slow = "Storage is slow: wait.";
export const late = "Storage is slow: that ticket was not taken. Scan it again.";
export const lookedFor = "The organiser is looking for this phone:";
export const lookedForSeen = "It is here";
