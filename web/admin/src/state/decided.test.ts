import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Decided, STEP } from "./decided.svelte.ts";

/** The decisions of the test's server in its order, and the requests that it got. */
let held: string[] = [];
let asked: URLSearchParams[] = [];
let status = 200;
/** More decisions than two requests give together. */
const MANY = 1_234;

beforeEach(() => {
  held = Array.from({ length: MANY }, (_, at) => `i${at}`);
  asked = [];
  status = 200;
  vi.stubGlobal("fetch", async (path: string) => {
    const query = new URL(path, "http://here").searchParams;
    asked.push(query);
    if (status !== 200) return new Response("{}", { status });
    const from = Number(query.get("cursor") ?? 0);
    const to = from + Number(query.get("limit"));
    const items = held.slice(from, to).map((id) => ({ id }));
    return new Response(JSON.stringify({ items, next_cursor: to < held.length ? String(to) : null }));
  });
});
afterEach(() => vi.unstubAllGlobals());
const shown = (decided: Decided): string[] => decided.items.map((one) => one.id);

test("every decision is reached, in the server's order", async () => {
  const decided = new Decided("e");
  await decided.load();
  expect(asked[0]?.get("decided")).toBe("1");
  expect(shown(decided)).toEqual(held.slice(0, STEP));
  let pressed = 0;
  while (decided.more) {
    await decided.showMore();
    pressed += 1;
  }
  expect(shown(decided)).toEqual(held);
  expect(pressed).toBe(Math.ceil(MANY / STEP) - 1);
});

test("a decision made meanwhile comes on top, and what is shown stays shown", async () => {
  const decided = new Decided("e");
  await decided.load();
  await decided.showMore();
  held.unshift("new");
  await decided.load();
  expect(shown(decided)).toEqual(held.slice(0, 2 * STEP));
});

test("where more could not be read, what is shown stays, and it is asked for again", async () => {
  const decided = new Decided("e");
  await decided.load();
  status = 503;
  await decided.showMore();
  expect(decided.failure).not.toBe("");
  expect(shown(decided)).toHaveLength(STEP);
  expect(decided.more).toBe(true);
  status = 200;
  await decided.showMore();
  expect(decided.failure).toBe("");
  expect(shown(decided)).toEqual(held.slice(0, 2 * STEP));
});
