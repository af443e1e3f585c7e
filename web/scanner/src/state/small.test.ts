import { expect, test } from "vitest";
import type { View } from "../../../shared/core/engine.ts";
import { grouped, span } from "./format.ts";
import { readPairingCode } from "./link.ts";
import { pillOf } from "./pill.ts";
import { DEFAULTS, loadSettings, merge } from "./settings.ts";

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

const NOW = Date.parse("2026-06-07T20:00:00Z");
const view = {
  online: true,
  captive: false,
  unsent: 0,
  problems: [],
  list: { version: 7, tickets: 10, generated_at: "2026-06-07T19:48:00Z", expires_at: "2026-06-08T04:00:00Z", expired: false },
} as unknown as View;

test("the pill: quiet online, amber with numbers offline", () => {
  expect(pillOf(view, NOW)).toEqual({ text: "Online", attention: false });
  expect(pillOf({ ...view, online: false, unsent: 12 }, NOW)).toEqual({ text: "Offline · 12 to send · list 12 min", attention: true });
  expect(pillOf({ ...view, captive: true, online: false }, NOW).text).toMatch(/^No real network/);
});

test("a young list is not mentioned; an expired one always is", () => {
  const list = { ...view.list!, generated_at: "2026-06-07T19:58:00Z" };
  expect(pillOf({ ...view, online: false, list }, NOW).text).toBe("Offline");
  expect(pillOf({ ...view, list: { ...list, expired: true } }, NOW)).toEqual({ text: "Online · list out of date", attention: true });
});

test("settings that were meddled with cost only themselves", () => {
  expect(merge({ sound: false, volume: 9, theme: "pink", dwellMs: "long" })).toEqual({ ...DEFAULTS, sound: false });
  expect(loadSettings({ getItem: () => "{broken" })).toEqual(DEFAULTS);
});

test("a code is read out in groups of four, without what all codes begin with", () => {
  expect(grouped("admit_pt_0123456789ab")).toBe("0123 4567 89ab");
});
