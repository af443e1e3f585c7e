/** Who is signed in. */
import { api, Problem, whenSignedOut } from "../../../shared/api/client";
import type { Session } from "../../../shared/api/types";

export const session = $state<{ known: boolean; current: Session | null }>({ known: false, current: null });

whenSignedOut(() => {
  session.current = null;
});

export async function loadSession(): Promise<void> {
  try {
    session.current = await api.get<Session>("/api/session");
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    session.current = null;
  } finally {
    session.known = true;
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  session.current = await api.post<Session>("/api/session", { email, password });
}

export async function signOut(): Promise<void> {
  await api.remove("/api/session");
  session.current = null;
}

/** Whether the signed-in role may change things of an event. */
export function mayManage(): boolean {
  return session.current?.role === "owner" || session.current?.role === "manager";
}
