/** The pairing screen. */
export const title = "Pair this device";
export const titleAgain = "Pair again";
export const intro = "An organiser shows a pairing code on their screen. Pairing needs the network once; scanning does not.";
export const scan = "Scan the pairing code";
export const stop = "Stop looking";
/** Shown while the phone asks the server to which event and gate a code belongs. */
export const looking = "Looking up the code";
export const lookAgain = "Look again";
/** The server's answers about a code that cannot pair now. */
export const states = {
  expired: "This pairing code has expired.",
  used: "This pairing code was used already.",
  unknown: "The server does not know this pairing code.",
  busy: "Too many wrong codes came from this network. Wait a few minutes.",
  silent: "The server does not answer. Is there a network?",
};
export const useAnother = "Use another code";
export const paste = "Or paste the pairing link or code";
/** The label of the field if it contains a code already. */
export const pasted = "Pairing link or code";
/** The page was opened by a link that holds no pairing code. */
export const badLink = "This link holds no pairing code. Ask the organiser for a new one.";
/** A link that was opened before and is no longer good. */
export const oldLink = "Ask the organiser for a new code. A code works for a few minutes and for as many phones as they chose.";
export const noCode = "This is no pairing code.";
export const noCodeScanned = "What was scanned is no pairing code. Show the code of the organiser's screen.";
export const elsewhere = "This code belongs to another address than this page.";
export const openThere = (host: string) => `Open ${host}`;
export const useHere = "Use it here all the same";
export const deviceName = "Name of this device";
export const deviceNameExample = "North gate 1";
/** The suggested name of a device, by its kind. `number` makes the name of a second device different. */
export const deviceNames = {
  phone: (number: number) => `Phone ${number}`,
  iphone: (number: number) => `iPhone ${number}`,
  ipad: (number: number) => `iPad ${number}`,
  desktop: (number: number) => `Computer ${number}`,
};
/** The one button: `name` is what the device will be called. */
export const actAs = (name: string) => `Pair as ${name}`;
export const changeName = "Change the name";
export const pairing = "Pairing";
export const again = "Pair again";
export const ask = "Show this device's code";
export const askHint =
  "The organiser scans it and approves this device. Use it also if this device was paired before. Its scans are kept.";
export const keeps = "What this device keeps";
export const keepsText =
  "The list of valid codes as fingerprints, without e-mail addresses or phone numbers, and every scan until some weeks after the event. Guests' names only where the organiser allows it for the gate, sealed with a key that stays in this browser. Camera pictures never leave this device and are never stored. Revoking the device erases the list.";
export const homeScreen = "Put it on the home screen first";
export const homeScreenWhy = "The phone may erase a web page's data. It keeps the data of an app on the home screen.";
export const homeScreenSteps = {
  ios: ["Tap Share, the square with an arrow.", "Tap “Add to Home Screen”, then “Add”.", "Open Admit from the home screen and pair there."],
  android: ["Open the browser's menu ⋮.", "Tap “Add to home screen” or “Install app”.", "Open Admit from the home screen and pair there."],
};
