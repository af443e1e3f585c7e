import { expect, test } from "vitest";
import { Guard, type Guarded } from "./guard.ts";
import { DEFAULTS, merge, type Settings } from "./settings.ts";

const MINUTE = 60_000;

function scanner(change: Partial<Settings>, more: Partial<Guarded> = {}) {
  const made = {
    settings: { ...DEFAULTS, ...change },
    hasPin: true,
    scans: true,
    setSettings: (next: Partial<Settings>) => Object.assign(made.settings, next),
    ...more,
  };
  return made;
}

test("the screen locks after as many idle minutes as were set, and a touch begins them anew", () => {
  const at = scanner({ lockMinutes: 2 });
  const guard = new Guard(at, 0);
  guard.tick(2 * MINUTE - 1);
  expect(at.settings.locked).toBe(false);
  guard.used(MINUTE);
  guard.tick(2 * MINUTE);
  expect(at.settings.locked).toBe(false);
  guard.tick(3 * MINUTE);
  expect(at.settings.locked).toBe(true);
  guard.opened(4 * MINUTE);
  guard.tick(5 * MINUTE);
  expect(at.settings.locked).toBe(false);
});

test.each([
  ["it is not set", scanner({ lockMinutes: 0 })],
  ["no PIN could open it", scanner({ lockMinutes: 2 }, { hasPin: false })],
  ["nothing is scanned here", scanner({ lockMinutes: 2 }, { scans: false })],
  ["guests use it", scanner({ lockMinutes: 2, kiosk: true })],
])("it never locks by itself where %s", (_, at) => {
  new Guard(at, 0).tick(60 * MINUTE);
  expect(at.settings.locked).toBe(false);
});

test("the PIN opens the lock first, then ends the kiosk; both outlive a reload", () => {
  const at = scanner({ kiosk: true });
  const guard = new Guard(at, 0);
  guard.lock();
  expect(merge(JSON.parse(JSON.stringify(at.settings)))).toMatchObject({ kiosk: true, locked: true });
  guard.opened(0);
  expect(at.settings).toMatchObject({ kiosk: true, locked: false });
  guard.opened(0);
  expect(at.settings).toMatchObject({ kiosk: false, locked: false });
});
