import { beforeEach, expect, test, vi } from "vitest";
import { Persistence, persistenceWords } from "./persistence.ts";

const CHROME = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36";
const FIREFOX = "Mozilla/5.0 (Android 15; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0";
const FIREFOX_IOS = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/143.0 Mobile/15E148 Safari/605.1.15";

let granted: boolean;
let grants: boolean;
let told: boolean[];
const persisted = vi.fn(async () => granted);
const persist = vi.fn(async () => (granted ||= grants));

beforeEach(() => {
  granted = false;
  grants = false;
  told = [];
  vi.clearAllMocks();
});

function phone(userAgent: string, storage: object = { persisted, persist }): Persistence {
  return new Persistence(() => ({ storage, userAgent }), (kept) => told.push(kept));
}
const settled = () => new Promise((done) => setTimeout(done, 0));

test("a start with what was granted before says so, and asks nothing", async () => {
  granted = true;
  phone(CHROME).ready();
  await settled();
  expect(told).toEqual([true]);
  expect(persist).not.toHaveBeenCalled();
});

test("refused at pairing, it is asked for once per start, and again when the app is installed", async () => {
  const first = phone(CHROME);
  first.tapped();
  await settled();
  first.ready();
  first.ready();
  await settled();
  expect(persist).toHaveBeenCalledTimes(2);
  expect(told).toEqual([false, false]);
  grants = true;
  first.installed();
  await settled();
  expect(told.at(-1)).toBe(true);
});

test("a browser that puts the question to a person is asked on a tap alone, and still says what holds", async () => {
  const firefox = phone(FIREFOX);
  firefox.ready();
  firefox.installed();
  await settled();
  expect(persist).not.toHaveBeenCalled();
  expect(told).toEqual([false, false]);
  firefox.tapped();
  await settled();
  expect(persist).toHaveBeenCalledTimes(1);
  phone(FIREFOX_IOS).ready();
  await settled();
  expect(persist).toHaveBeenCalledTimes(2);
});

test("a browser that knows nothing of it, or fails, leaves it unsaid", async () => {
  new Persistence(() => ({ storage: undefined, userAgent: CHROME }), (kept) => told.push(kept)).ready();
  phone(CHROME, {}).tapped();
  phone(CHROME, { persisted: () => Promise.reject(new TypeError("blocked")) }).ready();
  await settled();
  expect(told).toEqual([]);
  expect(persistenceWords(null)).not.toContain("kept by");
});
