/**
 * Knows who is signed in. If a session ends while somebody works, the page stays as it is, and the app asks over it for the
 * sign-in.
 */
import { api, Problem, whenSignedOut } from "../../../shared/api/client";
import type { Session } from "../../../shared/api/types";
import { discard } from "./leaving.svelte";

/** `known`: the server said who is signed in, or that nobody is. `lost`: the session of `current` is over. */
export const session = $state<{ known: boolean; current: Session | null; lost: boolean }>({
  known: false,
  current: null,
  lost: false,
});

/** Functions that record something before a sign-out. Each fails if it cannot record. */
const before = new Set<() => Promise<void>>();
/** Functions that run when the same person signs in again. */
let again: (() => void)[] = [];

/** Whether a sign-out is under way. A refusal meanwhile does not mean that the session was lost. */
let leaving = false;

function loseSession(): void {
  if (session.current && !leaving) session.lost = true;
}
whenSignedOut(loseSession);

/** Takes the person whom the server names. If it is another person than before, the page reloads, since they must not see the former's work. */
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

/** Asks the server who is signed in. Fails if there is no answer. */
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

/** Signs out after everything that waits is recorded. If something cannot be recorded, it fails and the person stays signed in. */
export async function signOut(): Promise<void> {
  if (!session.lost) {
    await Promise.all([...before].map((record) => record()));
    leaving = true;
    try {
      await api.remove("/api/session");
    } catch (error) {
      // The session is over already, which is the aim.
      if (!(error instanceof Problem) || error.status !== 401) throw error;
    } finally {
      leaving = false;
    }
  }
  again = [];
  session.current = null;
  session.lost = false;
}

/** Runs `record` before a sign-out. The returned function ends that. */
export function beforeSignOut(record: () => Promise<void>): () => void {
  before.add(record);
  return () => before.delete(record);
}

/** Runs `go` when the same person signs in again. A reload of the page forgets it. */
export function onceSignedIn(go: () => void): void {
  again.push(go);
}

/** If a reading failed because the session is over, repeats it after the next sign-in. */
export function readAgain(error: unknown, read: () => Promise<unknown>): void {
  if (error instanceof Problem && error.status === 401) onceSignedIn(() => void read());
}

/** Whether the signed-in role may change an event. */
export function mayManage(): boolean {
  return session.current?.role === "owner" || session.current?.role === "manager";
}
