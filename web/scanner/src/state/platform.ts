import type { PageInput } from "../engine/messages.ts";

type Give = (input: PageInput) => void;

/** Tells the engine of a returned network, and wakes it when the page comes back from sleep. */
export function watchPage(give: Give): () => void {
  const online = () => give({ type: "online" });
  // Timers stand still while a phone sleeps. The tick lets the engine do what became due meanwhile.
  const visible = () => {
    if (document.visibilityState === "visible") give({ type: "tick" });
  };
  window.addEventListener("online", online);
  document.addEventListener("visibilitychange", visible);
  return () => {
    window.removeEventListener("online", online);
    document.removeEventListener("visibilitychange", visible);
  };
}

interface BatteryManager extends EventTarget {
  level: number;
}

/** Reports the battery level if the browser knows it. */
export function watchBattery(give: Give): () => void {
  const source = (navigator as { getBattery?: () => Promise<BatteryManager> }).getBattery;
  let ended = false;
  let stop = () => {};
  void source?.call(navigator).then(
    (battery) => {
      if (ended) return;
      const report = () => give({ type: "battery", percent: Math.round(battery.level * 100) });
      battery.addEventListener("levelchange", report);
      stop = () => battery.removeEventListener("levelchange", report);
      report();
    },
    () => {},
  );
  return () => {
    ended = true;
    stop();
  };
}

/** Keeps the screen lit while `wanted` is true. The system drops the wake lock whenever the page is hidden. */
export function watchWakeLock(wanted: () => boolean): () => void {
  let held: WakeLockSentinel | null = null;
  const ask = async () => {
    if (document.visibilityState !== "visible" || !wanted() || (held !== null && !held.released)) return;
    try {
      held = await navigator.wakeLock.request("screen");
    } catch {
      // Wake locks are not supported, or battery saving is on. The screen then goes dark as the phone is set.
    }
  };
  const timer = "wakeLock" in navigator ? setInterval(() => void ask(), 5000) : undefined;
  const visible = () => void ask();
  if (timer !== undefined) document.addEventListener("visibilitychange", visible);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", visible);
    void held?.release().catch(() => {});
  };
}

/** The browser's offer to install the app (Android, desktop). On iOS there is none; the pairing page explains the way there. */
export interface InstallOffer extends Event {
  prompt(): Promise<unknown>;
}

/** Stores the offer, so that it appears when staff tap a button and not while they scan. `done` is called once the app is installed. */
export function watchInstall(keep: (offer: InstallOffer | null) => void, done: () => void): () => void {
  const offered = (event: Event) => {
    event.preventDefault();
    keep(event as InstallOffer);
  };
  const installed = () => {
    keep(null);
    done();
  };
  window.addEventListener("beforeinstallprompt", offered);
  window.addEventListener("appinstalled", installed);
  return () => {
    window.removeEventListener("beforeinstallprompt", offered);
    window.removeEventListener("appinstalled", installed);
  };
}
