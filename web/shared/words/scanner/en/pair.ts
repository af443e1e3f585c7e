/** The pairing screen. */
import type { Around } from "../formats.ts";

export const title = "Pair this device";
export const titleAgain = "Pair this device anew";
export const intro = "An organiser shows a pairing code on their screen. Pairing needs the network once; scanning does not.";
export const scan = "Scan the pairing code";
export const stop = "Stop looking";
export const read: Around = ["Pairing code read: ", ""];
export const useAnother = "Use another code";
export const paste = "Or paste the pairing link or code";
export const noCode = "This is no pairing code.";
export const noCodeScanned = "What was scanned is no pairing code. Show the code of the organiser's screen.";
export const elsewhere = "This code belongs to another address than this page.";
export const openThere = (host: string) => `Open ${host}`;
export const useHere = "Use it here all the same";
export const deviceName = "Name of this device";
export const deviceNameExample = "North gate 1";
export const operator = "Who is scanning (kept with every scan)";
export const operatorExample = "Your name";
export const act = "Pair";
export const pairing = "Pairing";
export const again = "Pair again";
export const ask = "Show this device's own code instead";
export const askHint =
  "For an organiser to scan and approve. It also lets in a device that was paired before and lost its key, or was revoked: what it scanned is kept and goes on.";
export const keeps = "What this device keeps";
export const keepsText =
  "The list of valid codes as fingerprints, without e-mail addresses or phone numbers, and every scan until some weeks after the event. Guests' names only where the organiser allows it for the gate, sealed with a key that stays in this browser. Camera pictures never leave this device and are never stored. Revoking the device erases the list.";
export const homeScreen = "Put it on the home screen first";
export const homeScreenText =
  "On an iPhone or iPad: Share, then “Add to Home Screen”, and pair from there. A web page that isn't used for a week may lose its data; an app on the home screen doesn't.";
