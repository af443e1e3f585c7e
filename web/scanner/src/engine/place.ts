/** What a pairing code leads to, as the server tells it before anybody pairs. */
export type PairingPlace =
  | {
      state: "good";
      eventId: string;
      eventName: string;
      gateId: string;
      gateName: string;
      /** A name for this device that no other of the event has. */
      deviceName: string;
    }
  /**
   * `expired`, `used`, `unknown`: it pairs nobody any more, or never did. `busy`: too many wrong codes came from this network.
   * `silent`: the server did not answer.
   */
  | { state: "expired" | "used" | "unknown" | "busy" | "silent" };

/** How long the server may take, milliseconds: the code can be tried without its answer. */
const PATIENCE_MS = 8000;

/** Asks this page's server what a code is for. Nothing of the code is used up. */
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
