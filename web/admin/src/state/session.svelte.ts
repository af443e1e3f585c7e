/**
 * Who is signed in. A session that ends while somebody works is not the end of their work: the page stays as it is, and
 * the sign-in is asked for over it.
 */
import { api, Problem, whenSignedOut } from "../../../shared/api/client";
import type { Session } from "../../../shared/api/types";
import { discard } from "./leaving.svelte";

/** `known`: the server said who is signed in, or nobody. `lost`: it no longer knows whoever `current` was. */
export const session = $state<{ known: boolean; current: Session | null; lost: boolean }>({
  known: false,
  current: null,
  lost: false,
});

/** What must be recorded before a sign-out; each fails where it could not be. */
const before = new Set<() => Promise<void>>();
/** What waits for the next sign-in of the same person. */
let again: (() => void)[] = [];

/** A sign-out is under way: what is refused meanwhile is no news. */
let leaving = false;

function loseSession(): void {
  if (session.current && !leaving) session.lost = true;
}
whenSignedOut(loseSession);

/** Takes whom the server names. What one person had open is not for the next: then the page begins anew. */
function take(who: Session): void {
  const was = session.current;
  if (was && (was.user_id !== who.user_id || was.organization_id !== who.organization_id)) {
    discard();
    location.reload();
    return;
  }
  session.current = who;
  session.lost = false;
  session.known = true;
  const waiting = again;
  again = [];
  for (const go of waiting) go();
}

/** Asks who is signed in. Without an answer nothing is known, and it fails. */
export async function loadSession(): Promise<void> {
  try {
    take(await api.get<Session>("/api/session"));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    session.known = true;
    loseSession();
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  take(await api.post<Session>("/api/session", { email, password }));
}

/** Signs out, once everything that waits is recorded; fails where something could not be, and is then still signed in. */
export async function signOut(): Promise<void> {
  if (!session.lost) {
    await Promise.all([...before].map((record) => record()));
    leaving = true;
    try {
      await api.remove("/api/session");
    } catch (error) {
      // Refused because it is over already: that is what was wanted.
      if (!(error instanceof Problem) || error.status !== 401) throw error;
    } finally {
      leaving = false;
    }
  }
  again = [];
  session.current = null;
  session.lost = false;
}

/** Has this recorded before a sign-out; the answer ends that. */
export function beforeSignOut(record: () => Promise<void>): () => void {
  before.add(record);
  return () => before.delete(record);
}

/** Does it when the same person is signed in again; a page that begins anew forgets it. */
export function onceSignedIn(go: () => void): void {
  again.push(go);
}

/** A reading that failed because the session is over is done again with the next one. */
export function readAgain(error: unknown, read: () => Promise<unknown>): void {
  if (error instanceof Problem && error.status === 401) onceSignedIn(() => void read());
}

/** Whether the signed-in role may change things of an event. */
export function mayManage(): boolean {
  return session.current?.role === "owner" || session.current?.role === "manager";
}
