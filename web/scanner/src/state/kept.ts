/**
 * Whether the browser keeps the app's files, so that the app starts without a network. `coming`: not yet, but the start is recent.
 * `missing`: still not, and staff are told. `never`: this browser cannot keep them.
 */
export type Kept = "coming" | "missing" | "kept" | "never";

/** A first start over a usual network has its files after this time, milliseconds. If it takes longer, staff are told. */
export const GRACE_MS = 30_000;
/** The pause before the second try, milliseconds. Each later pause is twice as long, up to `RETRY_MOST_MS`. */
export const RETRY_MS = 5_000;
export const RETRY_MOST_MS = 5 * 60_000;
/** The shortest time between two checks for a newer build, milliseconds. */
export const UPDATE_MS = 3_600_000;

/** The part of the browser that this module uses. */
export interface Host {
  /** Registers the service worker. */
  register(): Promise<ServiceWorkerRegistration>;
  /** Whether the service worker gave this page from the kept files. */
  controlled: boolean;
  window: Pick<EventTarget, "addEventListener">;
  document: Pick<Document, "addEventListener" | "visibilityState">;
}

/**
 * Makes the browser keep the app's files, and tells whether it does. If one file fails to load, the browser ends the installation
 * and drops the service worker silently. So this function tries again until a worker is installed. It also fetches newer builds.
 * A newer build waits until the app is opened again, so that a running app never has files of two builds.
 */
export function keepApp(host: Host, tell: (kept: Kept) => void): void {
  let registration: ServiceWorkerRegistration | null = null;
  const watched = new WeakSet<ServiceWorker>();
  let told: Kept | null = null;
  let late = false;
  let asking = false;
  let failures = 0;
  let updated = Date.now();
  let retry: ReturnType<typeof setTimeout> | undefined;

  const look = () => {
    const has = registration === null ? host.controlled : hasFiles(registration);
    const kept = has ? "kept" : late ? "missing" : "coming";
    if (kept !== told) tell((told = kept));
  };

  const ask = async () => {
    clearTimeout(retry);
    if (asking || (registration !== null && (hasFiles(registration) || lives(registration.installing)))) return;
    asking = true;
    try {
      const made = await host.register();
      if (made !== registration) made.addEventListener("updatefound", follow);
      registration = made;
      updated = Date.now();
    } catch {
      // There is no network, a portal answered, or the window is private. An older worker stays in use.
    } finally {
      asking = false;
    }
    follow();
  };

  /** Listens to each worker of the registration, and plans another try if no worker is left. */
  const follow = () => {
    for (const worker of [registration?.installing, registration?.waiting, registration?.active]) {
      if (!worker || watched.has(worker)) continue;
      watched.add(worker);
      worker.addEventListener("statechange", follow);
    }
    look();
    clearTimeout(retry);
    if (registration !== null && hasFiles(registration)) {
      failures = 0;
    } else if (!lives(registration?.installing)) {
      retry = setTimeout(() => void ask(), Math.min(RETRY_MOST_MS, RETRY_MS * 2 ** failures));
      failures += 1;
    }
  };

  /** Tries again at once, because the network may have returned. */
  const again = () => {
    failures = 0;
    void ask();
  };

  host.window.addEventListener("online", again);
  host.document.addEventListener("visibilitychange", () => {
    if (host.document.visibilityState !== "visible") return;
    again();
    if (registration === null || !hasFiles(registration) || Date.now() - updated < UPDATE_MS) return;
    updated = Date.now();
    void registration.update().catch(() => {});
  });
  setTimeout(() => {
    late = true;
    look();
  }, GRACE_MS);
  look();
  void ask();
}

/** Whether a worker is installed. A worker is installed only once it has all its files. */
function hasFiles({ active, waiting }: ServiceWorkerRegistration): boolean {
  return lives(active) || lives(waiting);
}

/** Whether a worker is usable. A worker becomes redundant before its registration forgets it. */
function lives(worker: ServiceWorker | null | undefined): boolean {
  return worker != null && worker.state !== "redundant";
}
