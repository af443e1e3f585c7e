/** The pairing screen. */
export const title = "Pair this device";
export const titleAgain = "Pair again";
export const intro = "An organiser shows a pairing code on their screen. Pairing needs the network once; scanning does not.";
export const scan = "Scan the pairing code";
export const stop = "Stop looking";
export const read = "Pairing code read. Press Pair to begin.";
export const useAnother = "Use another code";
export const paste = "Or paste the pairing link or code";
/** The page was opened by a link that holds no pairing code. */
export const badLink = "This link holds no pairing code. Ask the organiser for a new one.";
/** A link that was opened before and is no longer good. */
export const oldLink = "Ask the organiser for a new code. A code works once and for a few minutes.";
export const noCode = "This is no pairing code.";
export const noCodeScanned = "What was scanned is no pairing code. Show the code of the organiser's screen.";
export const elsewhere = "This code belongs to another address than this page.";
export const openThere = (host: string) => `Open ${host}`;
export const useHere = "Use it here all the same";
export const deviceName = "Name of this device";
export const deviceNameExample = "North gate 1";
/** A name to begin with, by the kind of device; `number` tells two of a kind apart. */
export const deviceNames = {
  phone: (number: number) => `Phone ${number}`,
  iphone: (number: number) => `iPhone ${number}`,
  ipad: (number: number) => `iPad ${number}`,
  desktop: (number: number) => `Computer ${number}`,
};
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
export const homeScreenWhy = "The phone may erase a web page's data. It keeps the data of an app on the home screen.";
export const homeScreenSteps = {
  ios: ["Tap Share, the square with an arrow.", "Tap “Add to Home Screen”, then “Add”.", "Open Admit from the home screen and pair there."],
  android: ["Open the browser's menu ⋮.", "Tap “Add to home screen” or “Install app”.", "Open Admit from the home screen and pair there."],
};
