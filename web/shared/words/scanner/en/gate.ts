/** Choosing the gate and the direction on the phone. */
export const title = "Gate and direction";
export const gate = "Gate";
export const direction = "Direction";
export const directions = { in: "In", out: "Out", both: "In and out" };
export const goneTitle = (gate: string) => (gate === "" ? "This gate was removed" : `${gate} was removed`);
export const goneText = "The organiser removed the gate this device scans at. What you scanned is kept and is sent. Choose the gate you stand at.";
export const none = "The event has no gate now. Ask the organiser.";
/** The device was moved, here or by the organiser. */
export const now = (gate: string) => `This phone scans at ${gate} now.`;
/** Until the server knows of it. */
export const hint = "Scans from now on belong to this gate, with or without a network.";
