/** Rows that say whether phones have the newest list and the right time, and whether passes are mailed. */
import type { DeviceView, EventView, Overview } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";
import { clockWords } from "./devices.ts";

export interface Ready {
  id: "lists" | "clocks" | "mails";
  /** Nothing is to be done. */
  done: boolean;
  why: string;
  place: "devices" | "passes";
}

/** A phone's clock counts as wrong if it is off by more than this, in milliseconds, as on the server. */
const CLOCK_OFF_MS = 2_000;
/** The number of phones that are named. The others are only counted. */
const NAMED = 3;

type Phone = Pick<DeviceView, "name" | "state" | "manifest_version" | "clock_offset_ms">;

export function readiness(event: Pick<EventView, "status">, devices: readonly Phone[], passes: Overview["passes"]): Ready[] {
  const phones = devices.filter((device) => device.state === "active");
  return [...(phones.length > 0 ? [lists(phones), clocks(phones)] : []), ...mails(event, passes)];
}

function named(names: readonly string[]): string {
  const { readiness: said } = words;
  return said.names(names.slice(0, NAMED), Math.max(0, names.length - NAMED));
}

/** Compares the phones' lists. The newest list is the newest that any phone has, since the server gives all the same. */
function lists(phones: readonly Phone[]): Ready {
  const { readiness: said } = words;
  const newest = Math.max(...phones.map((phone) => phone.manifest_version));
  const without = phones.filter((phone) => phone.manifest_version === 0).map((phone) => phone.name);
  const old = phones.filter((phone) => phone.manifest_version > 0 && phone.manifest_version < newest).map((phone) => phone.name);
  const why = [without.length > 0 ? said.noList(named(without), without.length) : "", old.length > 0 ? said.oldList(named(old), old.length) : ""];
  const late = why.filter(Boolean).join(" ");
  return { id: "lists", done: late === "", why: late || said.sameList(phones.length), place: "devices" };
}

function clocks(phones: readonly Phone[]): Ready {
  const { readiness: said } = words;
  const off = phones.filter((phone) => Math.abs(phone.clock_offset_ms ?? 0) > CLOCK_OFF_MS);
  const silent = phones.filter((phone) => phone.clock_offset_ms === null).length;
  const told = off.map((phone) => said.clockOff(phone.name, clockWords(phone.clock_offset_ms)));
  const why = off.length > 0 ? named(told) : silent === phones.length ? said.clocksUnknown : said.clocksRight(phones.length - silent, silent);
  return { id: "clocks", done: off.length === 0, why: off.length > 0 ? said.clocksOff(why) : why, place: "devices" };
}

function mails(event: Pick<EventView, "status">, { waiting, refused, sent }: Overview["passes"]): Ready[] {
  const { readiness: said } = words;
  if (waiting + refused + sent === 0) return [];
  const opens = event.status === "draft" && waiting > 0;
  const parts = [refused > 0 ? said.mailsRefused(refused) : "", waiting > 0 ? (opens ? said.mailsOpen(waiting) : said.mailsWait(waiting)) : "", sent > 0 ? said.mailsSent(sent) : ""];
  return [{ id: "mails", done: refused === 0 && (waiting === 0 || opens), why: parts.filter(Boolean).join(" · "), place: "passes" }];
}
