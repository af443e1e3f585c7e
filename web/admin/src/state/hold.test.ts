import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { IncidentView } from "../../../shared/api/types";
import { Hold } from "./hold.svelte.ts";
import { loadSession, session, signIn } from "./session.svelte.ts";

const incident = { id: "i1", kind: "double_entry", scans: [], updated_at: "2026-06-07T19:00:00Z" } as unknown as IncidentView;
const decision = { incident, decision: "note" as const, words: "Count both", title: "Ana came in twice", note: "seen" };
const ana = { user_id: "u1", organization_id: "o1" };
let status = 200;
let posted: string[] = [];

beforeEach(async () => {
  vi.useFakeTimers();
  posted = [];
  status = 200;
  Object.assign(session, { known: false, current: null, lost: false });
  vi.stubGlobal("fetch", async (path: string, { method, body }: { method: string; body?: string }) => {
    if (path === "/api/session") return new Response(JSON.stringify(ana));
    posted.push(`${method} ${path} ${body}`);
    return new Response("{}", { status });
  });
  await loadSession();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
const hold = () => new Hold(async () => {});

test("a decision can be taken back, and is recorded when its time is over", async () => {
  const one = hold();
  one.decide(decision);
  expect(one.waits(incident)).toBe(false);
  one.undo();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(posted).toEqual([]);
  one.decide(decision);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(posted).toEqual(['POST /api/incidents/i1/resolve {"decision":"note","note":"seen"}']);
  expect(one.waits(incident)).toBe(false);
  expect(one.waits({ ...incident, updated_at: "later" })).toBe(true);
});

test("what changed under a held decision is shown again and not decided", async () => {
  const one = hold();
  one.decide(decision);
  one.look([incident]);
  expect(one.held).not.toBe(null);
  const changed = { ...incident, updated_at: "2026-06-07T19:00:03Z" };
  one.look([changed]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(posted).toEqual([]);
  expect(one.waits(changed)).toBe(true);
  expect(one.failure).toContain("Ana came in twice");
});

test("a session that ended loses no decision: it is recorded after the next sign-in", async () => {
  const one = hold();
  one.decide(decision);
  status = 401;
  await expect(one.flush()).rejects.toThrow("not recorded yet");
  expect(session.lost).toBe(true);
  expect(one.waits(incident)).toBe(false);
  status = 200;
  await signIn("ana@club.example", "x");
  await vi.advanceTimersByTimeAsync(0);
  expect(posted).toHaveLength(2);
  expect(posted[1]).toBe(posted[0]);
  expect(one.failure).toBe("");
  expect(one.unsent).toEqual([]);
});

test("a decision that failed waits again and says why", async () => {
  const one = hold();
  one.decide(decision);
  status = 503;
  expect(await one.send()).toBe(false);
  expect(one.waits(incident)).toBe(true);
  expect(one.failure).toContain("Count both");
});

test("a decision is never sent in the name of whoever signs in next", async () => {
  const one = hold();
  one.decide(decision);
  session.lost = true;
  expect(await one.send()).toBe(false);
  expect(posted).toEqual([]);
  expect(one.unsent).toHaveLength(1);
});
