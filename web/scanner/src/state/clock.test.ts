import { expect, test } from "vitest";
import type { View } from "../../../shared/core/engine.ts";
import { ClockOffset, serverTime, since } from "./clock.ts";
import { pillOf } from "./pill.ts";

const HOUR = 3_600_000;
const AT = Date.parse("2026-06-07T20:00:00Z");

/** The status line of a phone at 20:00 by the server's clock. Its own clock is `ahead`, and its list was the newest at `checked`. */
function phone(ahead: number, checked: string, online: boolean): string {
  const list = { checked_at: checked, expired: false, newer: null };
  const view = { online, unsent: 0, sending: 0, problems: [], list, clock_offset_ms: -ahead } as unknown as View;
  const offset = new ClockOffset(() => new Disk());
  offset.take(view);
  return pillOf(view, serverTime(AT + ahead, offset.of(view))).text;
}

class Disk {
  readonly #kept = new Map<string, string>();
  getItem = (key: string) => this.#kept.get(key) ?? null;
  setItem = (key: string, value: string) => void this.#kept.set(key, value);
}

test("the list's age goes by the server's clock, however wrong the phone's own is", () => {
  for (const ahead of [0, HOUR, -2 * HOUR, 48 * HOUR]) {
    expect(phone(ahead, "2026-06-07T19:59:50Z", true)).toBe("Online");
    expect(phone(ahead, "2026-06-07T19:20:00Z", false)).toBe("Offline · list 40 min old");
  }
});

test("what is dated a moment ahead of our estimate is no age below zero", () => {
  expect(since("2026-06-07T20:00:00Z", serverTime(AT - 40, 0))).toBe(0);
});

test("before a start's first exchange the clock last known holds, also after a restart without a network", () => {
  const disk = new Disk();
  const first = new ClockOffset(() => disk);
  expect(first.of(null)).toBe(0);
  first.take({ clock_offset_ms: 2 * HOUR });
  first.take({ clock_offset_ms: null });
  expect(first.of({ clock_offset_ms: null })).toBe(2 * HOUR);
  const restarted = new ClockOffset(() => disk);
  expect(restarted.of({ clock_offset_ms: null })).toBe(2 * HOUR);
  expect(restarted.of({ clock_offset_ms: -300 })).toBe(-300);
});

test("a note of the clock that was meddled with, or storage that is blocked, costs only the note", () => {
  const disk = new Disk();
  disk.setItem("admit-clock", "NaN");
  expect(new ClockOffset(() => disk).of(null)).toBe(0);
  const blocked = new ClockOffset(() => {
    throw new DOMException("site data is blocked", "SecurityError");
  });
  blocked.take({ clock_offset_ms: 900 });
  expect(blocked.of({ clock_offset_ms: null })).toBe(900);
});
