/** The device's own code, for an organiser to approve. */

export const title = "Show this to an organiser";
export const text = "They scan it with their phone, or type it in on their screen under Devices.";
export const label = "This device's code";
export const waiting = "Waiting for the approval. The code is good for five minutes.";
