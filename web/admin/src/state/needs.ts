/** The things that need a person now, the most urgent first: each with a sentence, its meaning, and the page where a person deals with it. */
import type { DeviceView, EventView, GateView, IncidentView, Occupancy } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { LOW_BATTERY, lowBattery, standing } from "./devices.ts";
import { overdue } from "./events.ts";
import { type Context, mark, title, under } from "./review.ts";
import { ago, length, when } from "./times.ts";

export interface Need {
  id: string;
  mark: string;
  tone: "bad" | "warn";
  text: string;
  why: string;
  act: string;
  to: { place: "review" | "devices" | "gates"; query: string };
}

/** The number of cases that are named one by one. The others are only counted. */
const CASES = 3;
/** From this many silent phones on they are shown as one row, because the network is the likely cause. */
const MANY = 3;
/** How many of these phones are named. */
const NAMED = 3;
/** From this share of the capacity on, the app says that the venue is nearly full. */
const NEARLY_FULL = 0.95;

export interface Known {
  event: Pick<EventView, "status" | "time_zone" | "ends_at">;
  occupancy: Occupancy | null;
  devices: readonly DeviceView[];
  devicesKnown: boolean;
  incidents: readonly IncidentView[];
  /** Gates that let guests in. */
  gates: readonly Pick<GateView, "id" | "name">[];
  context: Omit<Context, "ticket">;
}

export function needs(known: Known): Need[] {
  return [...ending(known), ...cases(known), ...phones(known), ...hall(known)];
}

/** The row about an event that is live past its end. Phones go on admitting until somebody ends the event. */
function ending({ event, context: { now } }: Known): Need[] {
  const { needs: said } = words;
  if (!overdue(event, now)) return [];
  return [{ id: "overdue", mark: "!", tone: "warn", text: said.overdue(when(event.ends_at, event.time_zone, now)), why: said.overdueWhy, act: said.toEnd, to: { place: "gates", query: "" } }];
}

function cases({ incidents, context }: Known): Need[] {
  const { needs: said } = words;
  const to = (id: string) => ({ place: "review" as const, query: `case=${encodeURIComponent(id)}` });
  const named = incidents.slice(0, CASES).map((incident): Need => {
    const { text, tone } = mark(incident);
    return { id: incident.id, mark: text, tone, text: title(incident, context), why: under(incident, context), act: said.settle, to: to(incident.id) };
  });
  return named;
}

function phones({ event, devices, devicesKnown, gates, context }: Known): Need[] {
  const { needs: said } = words;
  const { now } = context;
  if (!devicesKnown || event.status === "ended" || event.status === "archived") return [];
  const out: Need[] = [];
  const silent = event.status === "live" ? devices.filter((device) => standing(device, now) === "offline") : [];
  if (silent.length >= MANY) out.push(together(silent, now));
  const add = (device: DeviceView, kind: string, sign: string, tone: Need["tone"], text: string, why: string, act: string): void => {
    out.push({ id: `${kind} ${device.id}`, mark: sign, tone, text, why, act, to: { place: "devices", query: `device=${encodeURIComponent(device.id)}` } });
  };
  for (const device of devices) {
    const gate = context.gate(device.gate_id);
    const stands = standing(device, now);
    const seen = device.last_seen_at === null ? words.times.never : when(device.last_seen_at, event.time_zone, now);
    if (stands === "suspended") add(device, "suspended", "!", "bad", said.suspended(device.name), said.suspendedWhy, said.see);
    else if (device.waiting > 0) add(device, "waiting", "!", "warn", said.waiting(device.name, device.waiting), said.waitingWhy, said.see);
    if (stands === "offline" && event.status === "live" && silent.length < MANY) {
      const silence = now - Date.parse(device.last_seen_at ?? "");
      add(device, "silent", `${Math.min(99, Math.floor(silence / 60_000))}′`, "warn", said.silent(device.name, length(silence)), said.silentWhy(gate, device.pending, seen, device.battery), said.findIt);
    } else if (stands === "online" && lowBattery(device)) {
      add(device, "battery", `${device.battery ?? LOW_BATTERY}`, "warn", said.battery(device.name, device.battery ?? 0), said.batteryWhy(gate), said.see);
    }
    if (device.missing_count > 0) add(device, "missing", "…", "warn", said.missing(device.name, device.missing_count), said.missingWhy, said.see);
    if (device.code_reused_at !== null) add(device, "code", "!", "warn", said.codeReused(device.name), `${said.codeReusedWhy} · ${ago(device.code_reused_at, now)}`, said.see);
  }
  if (event.status === "live" && !overdue(event, now)) {
    const paired = devices.filter((device) => device.state !== "revoked");
    const without = gates.filter((gate) => !paired.some((device) => device.gate_id === gate.id));
    const to = (gate: string) => ({ place: "devices" as const, query: `pair=${encodeURIComponent(gate)}` });
    if (paired.length === 0) {
      out.push({ id: "unstaffed", mark: "–", tone: "bad", text: said.noPhones, why: said.noPhonesWhy, act: said.pair, to: to("1") });
    } else if (without[0]) {
      out.push({ id: "unstaffed", mark: "–", tone: "warn", text: said.noPhoneAt(without.map((gate) => gate.name)), why: said.noPhoneAtWhy, act: said.pair, to: to(without[0].id) });
    }
  }
  return out;
}

function together(silent: readonly DeviceView[], now: number): Need {
  const { needs: said } = words;
  const least = Math.min(...silent.map((device) => now - Date.parse(device.last_seen_at ?? "")));
  const names = [...silent.slice(0, NAMED).map((device) => device.name), ...(silent.length > NAMED ? [said.others(silent.length - NAMED)] : [])];
  const unsent = silent.reduce((sum, device) => sum + device.pending, 0);
  return {
    id: "silence", mark: words.counting.number(silent.length), tone: "warn", text: said.silentMany(silent.length, length(least)), why: said.silentManyWhy(names, unsent),
    act: said.findThem, to: { place: "devices", query: "" },
  };
}

function hall({ occupancy, event }: Known): Need[] {
  const { needs: said } = words;
  if (!occupancy?.capacity || event.status !== "live") return [];
  const { inside, capacity } = occupancy;
  if (inside / capacity < NEARLY_FULL) return [];
  const to = { place: "devices" as const, query: "" };
  return [{ id: "full", mark: "▲", tone: inside >= capacity ? "bad" : "warn", text: said.capacity(inside, capacity), why: said.capacityWhy(inside, capacity), act: "", to }];
}
