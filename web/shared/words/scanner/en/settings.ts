/** The settings of this device. */
import { tenths } from "./format.ts";

export const title = "Settings";
export const sounds = "Sounds";
export const volume = "Volume";
export const vibration = "Vibration";
export const theme = "Theme";
export const themes = { night: "Night", light: "Day", contrast: "High contrast" };
export const textSize = (percent: number) => `Text size ${percent} %`;
export const hand = "Buttons for the";
export const hands = { right: "Right hand", left: "Left hand" };
export const camera = "Camera";
export const anyCamera = "Best for tickets (automatic)";
/** The name of a camera that has none. */
export const cameraNumber = (n: number) => `Camera ${n}`;
export const zoom = "Zoom";
export const formats = "Codes on the tickets";
export const formatsHint = "QR codes and the event's kinds are always read. Switch on others only where tickets have them: each kind slows the reader a little.";
/** Marks a kind of code that the organiser chose for the event. */
export const formatOfEvent = (name: string) => `${name} (set by the event)`;
export const formatNames = {
  Code128: "Code 128",
  PDF417: "PDF417",
  Aztec: "Aztec",
  DataMatrix: "Data Matrix",
  EAN13: "EAN-13",
  Codabar: "Codabar",
};
export const scannerSection = "Hardware scanner";
export const prefix = "Text before each code";
export const suffix = "Text after each code";
export const fixedTextHint = "The scanner adds this text. It is taken away before the code is looked up.";
export const dwell = (seconds: number) => `“Admit” stays for ${tenths(seconds)} s`;
export const keyboardScanner = "My scanner types through an on-screen keyboard";
export const keyboardScannerHint = "Most hardware scanners work without this. Set the scanner to end each code with Enter or Tab.";
