/** Choosing the gate and the direction on the phone. */
export const title = "Gate and direction";
export const gate = "Gate";
export const direction = "Direction";
export const directions = { in: "In", out: "Out", both: "In and out" };
export const goneTitle = (gate: string) => (gate === "" ? "This gate was removed" : `${gate} was removed`);
export const goneText = "The organiser removed the gate this device scans at. What you scanned is kept and is sent. Choose the gate you stand at.";
export const none = "The event has no gate now. Ask the organiser.";
/** Says that the device was moved to another gate, on the phone or by an organiser. */
export const now = (gate: string) => `This phone scans at ${gate} now.`;
/** Shown until the server knows of the move. */
export const hint = "Scans from now on belong to this gate, with or without a network.";
