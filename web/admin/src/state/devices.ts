/** Texts and states of phones and their gates for organisers. */
import type { DeviceView, GateOccupancy, GateView } from "../../../shared/api/types.ts";
import { words } from "../../../shared/words/organiser/index.ts";

/** A phone counts as offline if the server heard nothing of it for this long, milliseconds. An online phone reports every 30 s. */
export const SILENT_MS = 120_000;
/** Below this battery level, in percent, a phone needs charging during the evening. */
export const LOW_BATTERY = 20;

export type Standing = "online" | "offline" | "never" | "suspended" | "revoked";

export function standing(device: Pick<DeviceView, "state" | "last_seen_at">, now: number): Standing {
  if (device.state !== "active") return device.state;
  if (!device.last_seen_at) return "never";
  return now - Date.parse(device.last_seen_at) > SILENT_MS ? "offline" : "online";
}

/** Whether a person should look at the phone. */
export const needsLook = (device: DeviceView): boolean =>
  device.state === "suspended" || device.waiting > 0 || device.missing_count > 0 || device.code_reused_at !== null || lowBattery(device);

export const lowBattery = (device: Pick<DeviceView, "battery" | "state">): boolean =>
  device.state === "active" && device.battery !== null && device.battery < LOW_BATTERY;

/** Phones sorted by gate and name. Their states do not change the order, so rows do not move. */
export function inOrder<Device extends Pick<DeviceView, "name" | "gate_id">>(devices: readonly Device[], gateName: (id: string) => string): Device[] {
  const compare = new Intl.Collator(words.locale, { numeric: true }).compare;
  return [...devices].sort((a, b) => compare(gateName(a.gate_id), gateName(b.gate_id)) || compare(a.name, b.name));
}

/** Whether the phone's name or its gate's name contains the typed text. */
export const found = (device: Pick<DeviceView, "name" | "gate_id">, text: string, gateName: (id: string) => string): boolean =>
  text.trim().toLocaleLowerCase().split(/\s+/).every((word) => `${device.name} ${gateName(device.gate_id)}`.toLocaleLowerCase().includes(word));

/** Gates without a paired phone. Nobody can be admitted there. */
export const unstaffed = <Gate extends Pick<GateView, "id">>(gates: readonly Gate[], devices: readonly Pick<DeviceView, "gate_id" | "state">[]): Gate[] =>
  gates.filter((gate) => !devices.some((device) => device.gate_id === gate.id && device.state === "active"));

/** A text about the difference between a phone's clock and the server's. `offsetMs`: server time minus phone time, as the phone last said. */
export function clockWords(offsetMs: number | null): string {
  const { devices } = words;
  if (offsetMs === null) return devices.clockUnknown;
  const seconds = Math.abs(offsetMs) / 1_000;
  if (seconds < 0.05) return devices.clockRight;
  return offsetMs > 0 ? devices.clockSlow(seconds) : devices.clockFast(seconds);
}

/** The first missing places of a log: "3, 7–9". */
export function gaps(ranges: readonly (readonly [number, number])[]): string {
  const named = ranges.slice(0, 4).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
  return named.join(", ") + (ranges.length > 4 ? " …" : "");
}

/** Gates that counts or phones name and the list lacks, because they were made after the list was read. */
export function unknownGates(
  gates: readonly Pick<GateView, "id">[],
  occupancy: { gates: readonly Pick<GateOccupancy, "gate_id">[] } | null,
  devices: readonly Pick<DeviceView, "gate_id">[],
): string[] {
  const spoken = [...(occupancy?.gates ?? []), ...devices].map((one) => one.gate_id);
  return [...new Set(spoken)].filter((id) => !gates.some((gate) => gate.id === id));
}
