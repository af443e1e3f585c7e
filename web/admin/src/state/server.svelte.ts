/** Whether the server answers: asked for where nothing else was heard of it, and told once, by the frame. */
import { serverTime, whenAnswered } from "../../../shared/api/client";

/** After so long without a word it is asked. */
const SILENCE_MS = 20_000;
/** How often that is looked at; while it doesn't answer, how often it is asked. */
const LOOK_MS = 5_000;
/** No answer after this is none. */
const PATIENCE_MS = 10_000;

/** `heardAt`: by this computer's clock, when it last answered. `online`: this computer has a network at all. */
export const server = $state({ reached: true, heardAt: Date.now(), online: true });

/** It said something. */
export function heard(): void {
  server.heardAt = Date.now();
  server.reached = true;
  server.online = true;
}

/** When it was last heard, by its own clock, while it is away; `null` while it answers. */
export const awaySince = (): number | null => (server.reached && server.online ? null : serverTime(server.heardAt));

/** A moment, but none later than what is known: while nothing is heard no phone is called silent. By the server's clock. */
export const lastKnown = (now: number): number => Math.min(now, awaySince() ?? now);

let asking: Promise<void> | null = null;
/** Asks whether it is alive. One request may fail alone: only this says that the server is gone. */
export function ask(): Promise<void> {
  asking ??= fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) })
    .then(
      (response) => (response.ok ? heard() : void (server.reached = false)),
      () => void (server.reached = false),
    )
    .finally(() => (asking = null));
  return asking;
}

/** Watches it while a person is signed in; the answer ends that. */
export function watchServer(): () => void {
  whenAnswered((answered) => (answered ? heard() : void ask()));
  const network = (): void => void (server.online = navigator.onLine);
  network();
  window.addEventListener("online", network);
  window.addEventListener("offline", network);
  const look = setInterval(() => {
    if (document.visibilityState !== "visible" || !navigator.onLine) return;
    if (!server.reached || Date.now() - server.heardAt > SILENCE_MS) void ask();
  }, LOOK_MS);
  return () => {
    clearInterval(look);
    window.removeEventListener("online", network);
    window.removeEventListener("offline", network);
  };
}
