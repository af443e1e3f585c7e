/** The screen of a tab that does not scan because another one does. */

export const open = "Open in another tab";
export const takenOver = "Taken over by another tab";
export const text = "One tab scans at a time, so that each scan is recorded once. Nothing is lost.";
export const takeOver = "Take over";
