/**
 * Whether the browser keeps the app's files, so that it starts without a network. `coming`: not yet, and nobody need
 * worry; `missing`: not yet, and staff are told; `never`: this browser can't.
 */
export type Kept = "coming" | "missing" | "kept" | "never";

/** A first start over a usual network has its files by then; one that takes longer is worth a word. */
export const GRACE_MS = 30_000;
/** The first pause before another try; each is twice the one before, up to the longest. */
export const RETRY_MS = 5_000;
export const RETRY_MOST_MS = 5 * 60_000;
/** So often at most the app asks for a newer build of itself. */
export const UPDATE_MS = 3_600_000;

/** As much of the browser as this needs. */
export interface Host {
  /** Registers the service worker. */
  register(): Promise<ServiceWorkerRegistration>;
  /** This page came out of the kept files. */
  controlled: boolean;
  window: Pick<EventTarget, "addEventListener">;
  document: Pick<Document, "addEventListener" | "visibilityState">;
}

/**
 * Has the browser keep the app, and tells how that stands. One file that does not come ends a first installation, the
 * browser then drops the worker and says nothing to anybody: so it is tried again until there is one. A newer build is
 * fetched now and then, and waits until the app is opened afresh, so that no scan meets a half-changed app.
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
      // No network, a portal in the server's place, or a private window. Where an older worker is, it goes on.
    } finally {
      asking = false;
    }
    follow();
  };

  /** Follows each worker of the registration to its end. */
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

  /** Something may have changed for the better. */
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

/** An installed worker has all its files; with no older one before it, it takes its place at once. */
function hasFiles({ active, waiting }: ServiceWorkerRegistration): boolean {
  return lives(active) || lives(waiting);
}

/** A worker hears that it is redundant before its registration forgets it. */
function lives(worker: ServiceWorker | null | undefined): boolean {
  return worker != null && worker.state !== "redundant";
}
