/** What an organiser reads off devices and their gates. */
import type { DeviceView, GateOccupancy, GateView } from "../../../shared/api/types.ts";

/** A phone that scans is heard every few seconds: after this silence it has no network. */
export const SILENT_MS = 120_000;

export type Standing = "online" | "offline" | "never heard" | "suspended" | "revoked";

export function standing(device: Pick<DeviceView, "state" | "last_seen_at">, now: number): Standing {
  if (device.state !== "active") return device.state;
  if (!device.last_seen_at) return "never heard";
  return now - Date.parse(device.last_seen_at) > SILENT_MS ? "offline" : "online";
}

/** How far a phone's own clock is from the server's, as it last said: server time minus its own. */
export function clockWords(offsetMs: number | null): string {
  if (offsetMs === null) return "clock not known";
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1);
  return seconds === "0.0" ? "clock right" : `clock ${seconds} s ${offsetMs > 0 ? "slow" : "fast"}`;
}

/** The first places in its logs that are missing: "3, 7–9". */
export function gaps(ranges: readonly (readonly [number, number])[]): string {
  const words = ranges.slice(0, 4).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
  return words.join(", ") + (ranges.length > 4 ? " …" : "");
}

/** Gates that the counts or a device speak of and the list does not: it was read before they were made. */
export function unknownGates(
  gates: readonly Pick<GateView, "id">[],
  occupancy: { gates: readonly Pick<GateOccupancy, "gate_id">[] } | null,
  devices: readonly Pick<DeviceView, "gate_id">[],
): string[] {
  const spoken = [...(occupancy?.gates ?? []), ...devices].map((one) => one.gate_id);
  return [...new Set(spoken)].filter((id) => !gates.some((gate) => gate.id === id));
}
