import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Live, pause } from "./live.svelte.ts";
import { loadSession, session } from "./session.svelte.ts";

/** A replacement for the browser's `EventSource`. A test opens it, leaves it silent, or closes it. */
class Stream extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  readyState = Stream.OPEN;
  closed = false;
  constructor() {
    super();
    streams.push(this);
  }
  says(what: string): void {
    this.dispatchEvent(new Event(what));
  }
  close(): void {
    this.closed = true;
    this.readyState = Stream.CLOSED;
  }
}
let streams: Stream[] = [];
let page: EventTarget & { visibilityState: string };
/** The server's answer to a path. A test can give a promise and resolve it later. */
let answer: (path: string) => Promise<Response> | Response;
let asked: string[] = [];
const json = (value: unknown): Response => new Response(JSON.stringify(value));
const empty = (path: string): Response =>
  path === "/api/session" ? json({ user_id: "u1", organization_id: "o1" }) : json({ items: [], next_cursor: null });

beforeEach(async () => {
  vi.useFakeTimers();
  streams = [];
  asked = [];
  answer = empty;
  page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  vi.stubGlobal("document", page);
  vi.stubGlobal("EventSource", Stream);
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return answer(path);
  });
  Object.assign(session, { known: false, current: null, lost: false });
  await loadSession();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
function opened(): Live {
  const live = new Live("e");
  live.open();
  live.follow(true);
  return live;
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const times = (part: string): number => asked.filter((path) => path.includes(part)).length;

test("a stream that looks open and says nothing is opened anew, each time after a longer pause", async () => {
  const live = opened();
  streams[0]?.says("open");
  expect(live.connected).toBe(true);
  await pass(30_000);
  expect(live.connected).toBe(false);
  expect(streams.length).toBe(2);
  expect(streams[0]?.closed).toBe(true);
  // Changes in between were missed, so everything is read.
  const before = times("/occupancy");
  streams[1]?.says("open");
  await pass(1_000);
  expect(times("/occupancy")).toBe(before + 1);
  await pass(10 * 60_000);
  const many = streams.length;
  expect(many).toBeLessThan(20);
  streams.at(-1)?.says("heartbeat");
  expect(live.connected).toBe(true);
  expect([1, 2, 3, 10].map(pause)).toEqual([2_000, 4_000, 8_000, 60_000]);
  live.close();
});

test("a stream that is connecting is left to the browser", async () => {
  const live = opened();
  if (streams[0]) streams[0].readyState = Stream.CONNECTING;
  await pass(120_000);
  expect(streams.length).toBe(1);
  live.close();
});

test("a stream that was refused asks once whether the session is over, and waits for the sign-in", async () => {
  const live = opened();
  await pass(1_000);
  answer = () => new Response("{}", { status: 401 });
  const before = times("/api/session");
  const stream = streams[0];
  if (stream) stream.readyState = Stream.CLOSED;
  stream?.says("error");
  await pass(60_000);
  expect(session.lost).toBe(true);
  expect(times("/api/session")).toBe(before + 1);
  expect(streams.length).toBe(1);
  answer = empty;
  session.lost = false;
  await pass(2_000);
  expect(streams.length).toBe(2);
  live.close();
});

test("one reading at a time: an older answer never lands on a newer one", async () => {
  const live = opened();
  await pass(1_000);
  const waiting: ((response: Response) => void)[] = [];
  answer = (path) => (path.includes("/devices") ? new Promise((done) => waiting.push(done)) : empty(path));
  streams[0]?.says("devices");
  await pass(1_000);
  streams[0]?.says("devices");
  await pass(1_000);
  expect(waiting.length).toBe(1);
  waiting[0]?.(json({ items: [{ id: "old" }], next_cursor: null }));
  await pass(1_000);
  expect(waiting.length).toBe(2);
  waiting[1]?.(json({ items: [{ id: "new" }], next_cursor: null }));
  await pass(1_000);
  expect(live.devices).toEqual([{ id: "new" }]);
  live.close();
});

test("what could not be read is read again", async () => {
  answer = (path) => (path.includes("/incidents") ? new Response("{}", { status: 503 }) : empty(path));
  const live = opened();
  await pass(1_000);
  expect(live.devicesKnown).toBe(true);
  expect(live.incidentsKnown).toBe(false);
  expect(live.failure).not.toBe("");
  answer = empty;
  streams[0]?.says("heartbeat");
  await pass(10_000);
  expect(live.incidentsKnown).toBe(true);
  expect(live.failure).toBe("");
  expect(times("/devices")).toBe(1);
  live.close();
});

test("there is a stream only where a person sees what lives by it", async () => {
  const live = opened();
  live.follow(false);
  expect(streams[0]?.closed).toBe(true);
  live.follow(true);
  expect(streams.length).toBe(2);
  page.visibilityState = "hidden";
  page.dispatchEvent(new Event("visibilitychange"));
  await pass(30_000);
  streams.at(-1)?.says("heartbeat");
  expect(streams.at(-1)?.closed).toBe(false);
  await pass(40_000);
  expect(streams.at(-1)?.closed).toBe(true);
  const before = streams.length;
  await pass(120_000);
  expect(streams.length).toBe(before);
  page.visibilityState = "visible";
  page.dispatchEvent(new Event("visibilitychange"));
  expect(streams.length).toBe(before + 1);
  live.close();
});
