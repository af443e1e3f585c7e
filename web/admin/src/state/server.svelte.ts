/** Knows whether the server answers. It asks if no other request got an answer lately. The app's frame shows it once for all pages. */
import { serverTime, whenAnswered } from "../../../shared/api/client";

/** If nothing was heard for this long, the app asks the server, milliseconds. */
const SILENCE_MS = 20_000;
/** How often the app checks the time since the last answer, milliseconds. While the server is away, it asks this often. */
const LOOK_MS = 5_000;
/** How long the app waits for an answer, milliseconds. */
const PATIENCE_MS = 10_000;

/** `heardAt`: when the server last answered, by this computer's clock. `online`: whether this computer has a network. */
export const server = $state({ reached: true, heardAt: Date.now(), online: true });

/** Notes that the server answered. */
export function heard(): void {
  server.heardAt = Date.now();
  server.reached = true;
  server.online = true;
}

/** When the server last answered, by the server's clock. `null` while it answers. */
export const awaySince = (): number | null => (server.reached && server.online ? null : serverTime(server.heardAt));

/** `now`, or while the server is away, the time of its last answer. So phones are not called silent only because the server is away. */
export const lastKnown = (now: number): number => Math.min(now, awaySince() ?? now);

let asking: Promise<void> | null = null;
/** Asks the server whether it is alive. A single other request may fail for its own reason, so only this request decides. */
export function ask(): Promise<void> {
  asking ??= fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) })
    .then(
      (response) => (response.ok ? heard() : void (server.reached = false)),
      () => void (server.reached = false),
    )
    .finally(() => (asking = null));
  return asking;
}

/** Watches the server while a person is signed in. The returned function ends that. */
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
