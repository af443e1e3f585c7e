/** The camera's picture, and the messages if there is none. */

export const label = "Camera";
export const tickets = "Tickets in front of the camera";
export const pairing = "Pairing code in front of the camera";
export const starting = "Starting camera";
export const typeCode = "Type a code";
export const restarted = "The camera had stopped and was started again.";
export const faults = {
  denied: {
    title: "The camera is not allowed",
    text: "Allow the camera for this page in the browser's settings. Typing a code and a hardware scanner work meanwhile.",
    button: "Try again",
  },
  none: {
    title: "No camera found",
    text: "Type a code, or use a hardware scanner. If this device has a camera, another app may hold it.",
    button: "Look again",
  },
  busy: { title: "The camera is busy", text: "Another app holds it. Close that app, then try again.", button: "Try again" },
  muted: { title: "No picture from the camera", text: "A call or another app keeps it away. It goes on by itself.", button: "Start it again" },
  lost: {
    title: "The camera stopped",
    text: "The system took it away. It is tried again by itself; scans so far are safe.",
    button: "Start it again",
  },
};
export const unreadable = (why: string) => `Codes cannot be read by camera: ${why}`;
/** The reason why no code can be read. `error`: the browser's own message. */
export const reader = {
  no_surface: () => "this browser gives no drawing surface to a worker. Update it, or use a hardware scanner.",
  failing: (error: string) => `the code reader fails (${error}). Close the app and open it again.`,
  not_started: () => "the code reader did not start",
  error: (error: string) => error,
};
