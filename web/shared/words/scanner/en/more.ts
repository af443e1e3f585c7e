/** The sheet behind "More". */

export const title = "More";
export const whoScans = "Who is scanning";
export const save = "Save";
export const whoScansHint = "Kept with every scan from now on. Leave it empty for nobody.";
export const event = "Event";
export const gate = "Gate";
