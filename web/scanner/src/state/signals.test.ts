// Sound stops and must come back: a call interrupts it, a browser closes it, and some devices leave it running silently.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DEFAULTS } from "./settings.ts";
import { Signals } from "./signals.ts";

const quiet = { setValueAtTime() {}, linearRampToValueAtTime() {} };
class FakeSound {
  state: string = "running";
  currentTime = 0;
  destination = {};
  resumed = 0;
  closed = 0;
  played = 0;
  /** The effect of `resume()`. */
  wakesTo = "running";
  async resume(): Promise<void> {
    this.resumed += 1;
    if (this.state === "closed") throw new Error("closed");
    this.state = this.wakesTo;
  }
  async close(): Promise<void> {
    this.closed += 1;
    this.state = "closed";
  }
  createOscillator() {
    this.played += 1;
    const node = { type: "", frequency: quiet, connect: () => node, start() {}, stop() {} };
    return node;
  }
  createGain() {
    const node = { gain: quiet, connect: () => node };
    return node;
  }
}

let made: FakeSound[];
let now: number;
let seen: (() => void)[];
let signals: Signals;
const page = { visibilityState: "visible", addEventListener: (_: string, then: () => void) => seen.push(then) };
beforeEach(() => {
  [made, now, seen] = [[], 0, []];
  page.visibilityState = "visible";
  vi.stubGlobal("document", page);
  vi.stubGlobal("navigator", {});
  signals = new Signals(
    () => {
      const sound = new FakeSound();
      made.push(sound);
      return sound as unknown as AudioContext;
    },
    () => now,
  );
});
afterEach(() => vi.unstubAllGlobals());
const sounds = () => {
  const before = made.map((sound) => sound.played);
  signals.play("admit", 1, { ...DEFAULTS, sound: true, vibration: false });
  return made.map((sound, at) => sound.played - (before[at] ?? 0));
};

test("the first tap makes the sound, the next ones leave it", () => {
  signals.unlock();
  expect(sounds()).toEqual([2]);
  made[0]!.currentTime = 3;
  now = 3_000;
  signals.unlock();
  expect(made).toHaveLength(1);
  expect(made[0]!.resumed).toBe(0);
});

test.each(["interrupted", "suspended"])("sound that is %s goes on with the next tap", async (state) => {
  signals.unlock();
  made[0]!.state = state;
  expect(sounds()).toEqual([0]);
  signals.unlock();
  await Promise.resolve();
  expect([made.length, sounds()]).toEqual([1, [2]]);
});

test("sound that a call interrupted goes on when the page is seen again, and not before", () => {
  signals.unlock();
  made[0]!.state = "interrupted";
  page.visibilityState = "hidden";
  for (const then of seen) then();
  expect(made[0]!.resumed).toBe(0);
  page.visibilityState = "visible";
  for (const then of seen) then();
  expect([made[0]!.resumed, made[0]!.state]).toEqual([1, "running"]);
});

test("sound that is closed, or that a tap did not wake, is made anew by the next tap", async () => {
  signals.unlock();
  made[0]!.state = "closed";
  signals.unlock();
  expect([made.length, sounds()]).toEqual([2, [0, 2]]);
  const stuck = made[1]!;
  Object.assign(stuck, { state: "interrupted", wakesTo: "interrupted" });
  signals.unlock();
  expect(made).toHaveLength(2);
  now += 2_000;
  signals.unlock();
  expect([made.length, stuck.closed]).toEqual([3, 1]);
});

test("sound that says it runs while its time stands still is made anew by a tap", () => {
  signals.unlock();
  made[0]!.currentTime = 5;
  now = 5_000;
  signals.unlock();
  now = 5_400;
  signals.unlock();
  expect(made, "two taps in a row tell nothing").toHaveLength(1);
  now = 9_000;
  signals.unlock();
  expect([made.length, made[0]!.closed]).toEqual([2, 1]);
});
