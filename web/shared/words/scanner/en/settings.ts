/** The settings of this device. */
import { tenths } from "./format.ts";

export const title = "Settings";
export const sounds = "Sounds";
export const volume = "Volume";
export const vibration = "Vibration";
export const theme = "Theme";
export const night = "Night";
export const day = "Day";
export const dwell = (seconds: number) => `“Admit” stays for ${tenths(seconds)} s`;
export const keyboardScanner = "Hardware scanner that acts as a keyboard app";
export const keyboardScannerHint = "Most hardware scanners work without this. End each code with Enter or Tab.";
