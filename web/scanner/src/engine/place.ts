/** The event and gate that a pairing code belongs to. The server tells them before the device pairs. */
export type PairingPlace =
  | {
      state: "good";
      eventId: string;
      eventName: string;
      gateId: string;
      gateName: string;
      /** A name for this device that no other device of the event has. */
      deviceName: string;
    }
  /**
   * `expired`, `used`, `unknown`: no device can pair with the code. `busy`: too many wrong codes came from this network.
   * `silent`: the server did not answer, or its answer could not be read.
   */
  | { state: "expired" | "used" | "unknown" | "busy" | "silent" };

/** How long the app waits for the server's answer, milliseconds. After that staff can try the code without it. */
const PATIENCE_MS = 8000;

/** Asks this page's server to which event and gate a code belongs. This does not use the code up. */
export async function placeOf(token: string, ask: typeof fetch = fetch): Promise<PairingPlace> {
  try {
    const answer = await ask("/api/scanning/pairing-place", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ pairing_token: token }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return read(answer.status, (await answer.json()) as Record<string, unknown>);
  } catch {
    return { state: "silent" };
  }
}

function read(status: number, body: Record<string, unknown>): PairingPlace {
  const { event_id, event_name, gate_id, gate_name, device_name, code } = body;
  const texts = [event_id, event_name, gate_id, gate_name, device_name];
  if (status === 200 && texts.every((text) => typeof text === "string")) {
    const [eventId, eventName, gateId, gateName, deviceName] = texts as [string, string, string, string, string];
    return { state: "good", eventId, eventName, gateId, gateName, deviceName };
  }
  if (status === 410) return { state: code === "pairing_token_used" ? "used" : "expired" };
  if (status === 404 || status === 400) return { state: "unknown" };
  return { state: status === 429 ? "busy" : "silent" };
}
