import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "../../../shared/api/client";
import { beforeSignOut, loadSession, onceSignedIn, session, signIn, signOut } from "./session.svelte.ts";

const ana = { user_id: "u1", email: "ana@club.example", name: "Ana", role: "owner", organization_id: "o1", organization_name: "Club" };
const reload = vi.fn();
/** The server's answers, in order. `null`: there is no network. */
let answers: ([number, unknown] | null)[] = [];
let asked: string[] = [];

beforeEach(() => {
  answers = [];
  asked = [];
  reload.mockReset();
  Object.assign(session, { known: false, current: null, lost: false });
  vi.stubGlobal("location", { reload });
  vi.stubGlobal("fetch", async (path: string, { method }: { method: string }) => {
    asked.push(`${method} ${path}`);
    const answer = answers.shift();
    if (!answer) throw new TypeError("no network");
    return new Response(answer[0] === 204 ? null : JSON.stringify(answer[1]), { status: answer[0] });
  });
});
afterEach(() => vi.unstubAllGlobals());

test("without an answer nobody is said to be signed out", async () => {
  answers = [null];
  await expect(loadSession()).rejects.toThrow();
  expect(session.known).toBe(false);
  answers = [[401, {}]];
  await loadSession();
  expect(session).toMatchObject({ known: true, current: null, lost: false });
});

test("a session that ends keeps the page, and goes on when the same person is back", async () => {
  answers = [[200, ana], [401, {}], [200, ana]];
  await loadSession();
  await expect(api.get("/api/events")).rejects.toThrow();
  expect(session.current?.user_id).toBe("u1");
  expect(session.lost).toBe(true);
  const sent = vi.fn();
  onceSignedIn(sent);
  await signIn("ana@club.example", "x");
  expect(session.lost).toBe(false);
  expect(sent).toHaveBeenCalledOnce();
  expect(reload).not.toHaveBeenCalled();
});

test("another person does not see what the former had open", async () => {
  answers = [[200, ana], [401, {}], [200, { ...ana, user_id: "u2" }]];
  await loadSession();
  await expect(api.get("/api/events")).rejects.toThrow();
  const sent = vi.fn();
  onceSignedIn(sent);
  await signIn("bo@club.example", "x");
  expect(reload).toHaveBeenCalledOnce();
  expect(session.lost).toBe(true);
  expect(sent).not.toHaveBeenCalled();
});

test("what waits is recorded before the session ends, and a sign-out that cannot be says so", async () => {
  answers = [[200, ana], [200, {}], [204, null]];
  await loadSession();
  const done = beforeSignOut(async () => void (await api.post("/api/incidents/i/resolve")));
  await signOut();
  done();
  expect(asked.slice(1)).toEqual(["POST /api/incidents/i/resolve", "DELETE /api/session"]);
  expect(session.current).toBe(null);

  answers = [[200, ana], null];
  await loadSession();
  await expect(signOut()).rejects.toThrow("can't be reached");
  expect(session.current?.user_id).toBe("u1");
});
