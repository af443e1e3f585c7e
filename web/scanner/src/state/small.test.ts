import { expect, test } from "vitest";
import type { View } from "../../../shared/core/engine.ts";
import { serverTime } from "./clock.ts";
import { grouped, span } from "./format.ts";
import { readPairingCode } from "./link.ts";
import { pillOf, syncProgress } from "./pill.ts";
import { DEFAULTS, loadSettings, merge, withoutFixed } from "./settings.ts";

const ORIGIN = "https://door.example";

test("a pairing link, a bare token, and what is neither", () => {
  expect(readPairingCode(`${ORIGIN}/scan/#pair=abc-DEF_1`, ORIGIN)).toEqual({ token: "abc-DEF_1", elsewhere: null });
  expect(readPairingCode("  abc-DEF_1 ", ORIGIN)).toEqual({ token: "abc-DEF_1", elsewhere: null });
  expect(readPairingCode("https://door.example/passes?token=1", ORIGIN)).toBeNull();
  expect(readPairingCode("two words", ORIGIN)).toBeNull();
  expect(readPairingCode("", ORIGIN)).toBeNull();
});

test("a link of another server is named, not used silently", () => {
  const code = "https://other.example/scan/#pair=abc";
  expect(readPairingCode(code, ORIGIN)?.elsewhere).toBe(code);
});

test("spans as staff say them", () => {
  expect([0, 4200, 59_400, 60_000, 12 * 60_000, 7_500_000, 7_200_000].map(span)).toEqual(["0 s", "4 s", "59 s", "1 min", "12 min", "2 h 5 min", "2 h"]);
});

const NOW = serverTime(Date.parse("2026-06-07T20:00:00Z"), 0);
const view = {
  online: true,
  captive: false,
  unsent: 0,
  sending: 0,
  problems: [],
  list: {
    version: 7,
    tickets: 10,
    generated_at: "2026-06-07T12:00:00Z",
    expires_at: "2026-06-08T04:00:00Z",
    expired: false,
    checked_at: "2026-06-07T19:59:50Z",
    newer: null,
  },
} as unknown as View;
const checked = (at: string) => ({ ...view.list!, checked_at: at });

test("the pill: quiet online, amber with numbers offline", () => {
  expect(pillOf(view, NOW)).toEqual({ text: "Online", short: "Online", attention: false, busy: false });
  const list = checked("2026-06-07T19:48:00Z");
  expect(pillOf({ ...view, list, online: false, unsent: 12 }, NOW).text).toBe("Offline · 12 to send · list 12 min");
  expect(pillOf({ ...view, online: false }, NOW).attention).toBe(true);
  expect(pillOf({ ...view, captive: true, online: false }, NOW).text).toMatch(/^No real network/);
});

test("an app that would not start again without a network is told in amber, in few words", () => {
  expect(pillOf(view, NOW, null, true)).toEqual({ text: "App not saved", short: "App not saved", attention: true, busy: false });
  expect(pillOf({ ...view, online: false, unsent: 2 }, NOW, null, true).text).toBe("Offline · 2 to send · app not saved");
});

test("the pill's face has the one thing that matters most, so that the gate keeps its name", () => {
  const short = (change: Partial<View>, unsaved = false) => pillOf({ ...view, ...change }, NOW, null, unsaved).short;
  const old = checked("2026-06-07T19:20:00Z");
  const problem = { scan_id: "s", reason: "quota", kept: false, at: "2026-06-07T19:20:00Z" };
  expect(short({})).toBe("Online");
  expect(short({ unsent: 2 })).toBe("Online · 2");
  expect(short({ online: false, unsent: 1200, list: old }, true)).toBe("Offline · 1,200");
  expect(short({ online: false, captive: true })).toBe("No real network");
  expect(short({ suspended: true, unsent: 3 })).toBe("Held by the server · 3");
  expect(short({ list: old })).toBe("List 40 min old");
  expect(short({ list: { ...view.list!, newer: 8 } })).toBe("New tickets coming");
  expect(short({ problems: [problem], list: old })).toBe("1 refused");
});

test("a young list is not mentioned; an expired one always is", () => {
  expect(pillOf({ ...view, online: false }, NOW).text).toBe("Offline");
  const list = { ...view.list!, expired: true };
  expect(pillOf({ ...view, list }, NOW)).toEqual({ text: "Online · the event's end has passed", short: "Past end time", attention: true, busy: false });
  // The banner on the screen says that the organiser ended it.
  expect(pillOf({ ...view, list, event_status: "ended" }, NOW)).toEqual({ text: "Online", short: "Online", attention: false, busy: false });
});

test("a list grows old by the time since the server last called it the newest, also online: 5 min is said, 30 min is amber", () => {
  expect(pillOf({ ...view, list: checked("2026-06-07T19:55:01Z") }, NOW).text).toBe("Online");
  expect(pillOf({ ...view, list: checked("2026-06-07T19:50:00Z") }, NOW)).toMatchObject({ text: "Online · list 10 min", attention: false });
  expect(pillOf({ ...view, list: checked("2026-06-07T19:29:00Z") }, NOW)).toMatchObject({ text: "Online · list 31 min old", attention: true });
  expect(pillOf({ ...view, list: checked("2026-06-07T15:00:00Z") }, NOW)).toMatchObject({ text: "Online · list 5 h old", attention: true });
});

test("new tickets that are on their way are announced, with the age of what is here once that counts", () => {
  const list = { ...view.list!, newer: 8 };
  expect(pillOf({ ...view, list }, NOW)).toMatchObject({ text: "New tickets coming", attention: false });
  const old = { ...list, checked_at: "2026-06-07T19:20:00Z" };
  expect(pillOf({ ...view, online: false, list }, NOW).text).toBe("Offline · new tickets coming");
  expect(pillOf({ ...view, list: old }, NOW)).toMatchObject({ text: "New tickets coming, list 40 min", attention: true });
});

test("a backlog on its way: how many are left, how many of how many are through, and nothing of a scan or two", () => {
  const waiting = { ...view, online: false, unsent: 2500 };
  const begun = syncProgress(null, waiting);
  const sending = { ...view, unsent: 2500, sending: 1000 };
  expect(pillOf(sending, NOW, syncProgress(begun, sending))).toEqual({ text: "Syncing 2,500 scans", short: "Syncing 2,500 scans", attention: false, busy: true });
  const further = { ...sending, unsent: 1500 };
  expect(syncProgress(begun, further)).toEqual({ total: 2500, done: 1000 });
  expect(pillOf(further, NOW, syncProgress(begun, further)).text).toBe("Syncing 1,500 scans");
  const last = { ...sending, unsent: 3, sending: 3 };
  expect(pillOf(last, NOW, syncProgress(begun, last)).busy).toBe(true);
  expect(syncProgress(begun, { ...view, unsent: 0 })).toBeNull();
  const few = { ...view, unsent: 2, sending: 2 };
  expect(pillOf(few, NOW, syncProgress(null, few))).toMatchObject({ text: "Online · 2 to send", busy: false });
  expect(pillOf(waiting, NOW, begun).busy).toBe(false);
});

test("settings that were meddled with cost only themselves", () => {
  expect(merge({ sound: false, volume: 9, theme: "pink", dwellMs: "long" })).toEqual({ ...DEFAULTS, sound: false });
  expect(loadSettings(() => ({ getItem: () => "{broken" }))).toEqual(DEFAULTS);
  const blocked = () => {
    throw new DOMException("site data is blocked", "SecurityError");
  };
  expect(loadSettings(blocked)).toEqual(DEFAULTS);
});

test("a code is read out in groups of four, without what all codes begin with", () => {
  expect(grouped("admit_pt_0123456789ab")).toBe("0123 4567 89ab");
});

test.each([
  ["~TICKET-1#", "~", "#", "TICKET-1"],
  ["TICKET-1", "~", "#", "TICKET-1"],
  ["~~", "~~", "", "~~"],
  ["~TICKET-1", "", "", "~TICKET-1"],
])("fixed text: %s without %s and %s is %s", (text, prefix, suffix, code) => {
  expect(withoutFixed(text, { prefix, suffix })).toBe(code);
});
