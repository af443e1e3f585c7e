/** Texts that more than one screen uses. */

export const starting = "Starting the scanner";
export const hardwareScanner = "Hardware scanner";
export const paused = "Scanner paused: tap the screen";
export const oneTicket = "One ticket at a time";
export const install = "Install as an app";
export const device = "Device";
export const close = "Close";
export const cancel = "Cancel";
