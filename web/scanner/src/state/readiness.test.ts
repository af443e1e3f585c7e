import { expect, test } from "vitest";
import type { View } from "../../../shared/core/engine.ts";
import type { ServerTime } from "./clock.ts";
import { type Looked, readiness } from "./readiness.ts";

const AT = Date.parse("2026-06-06T17:00:00Z");
const list = { version: 1, tickets: 2, generated_at: "2026-06-06T16:59:50Z", expires_at: "2026-06-07T05:00:00Z", expired: false, checked_at: "2026-06-06T16:59:50Z", newer: null };
const view = { event_status: "live", list, clock_offset_ms: 100, has_pin: true } as unknown as View;
const good: Looked = { view, now: AT as ServerTime, camera: "live", hasRead: true, sound: true, persisted: true, kept: "kept" };
const states = (change: Partial<Looked>) => Object.fromEntries(readiness({ ...good, ...change }).map((row) => [row.id, row.state]));
const of = (change: object) => states({ view: { ...view, ...change } as View });

test("a phone that is ready has nothing but OK", () => {
  expect(new Set(Object.values(states({})))).toEqual(new Set(["ok"]));
});

test.each([
  ["the camera has read nothing yet", states({ hasRead: false }), "camera", "warn"],
  ["there is no camera", states({ hasRead: false, camera: "none" }), "camera", "bad"],
  ["sound is off", states({ sound: false }), "sound", "warn"],
  ["the browser may clear what is stored", states({ persisted: false }), "storage", "warn"],
  ["the app's files are not here yet", states({ kept: "coming" }), "files", "warn"],
  ["this browser keeps no files", states({ kept: "never" }), "files", "bad"],
  ["there is no list", of({ list: null }), "list", "bad"],
  ["the list is of yesterday", of({ list: { ...list, checked_at: "2026-06-05T17:00:00Z" } }), "list", "bad"],
  ["the clock is a minute off", of({ clock_offset_ms: -60_000 }), "clock", "warn"],
  ["the clock was never compared", of({ clock_offset_ms: null }), "clock", "warn"],
  ["nobody set a PIN", of({ has_pin: false }), "pin", "warn"],
  ["the event is a draft", of({ event_status: "draft" }), "event", "warn"],
  ["the event is over", of({ event_status: "ended" }), "event", "bad"],
])("where %s, it says so", (_, rows, id, state) => {
  expect(rows[id]).toBe(state);
  expect(Object.values(rows).filter((one) => one !== "ok")).toHaveLength(1);
});
