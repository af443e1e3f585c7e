import type { Scanner } from "./scanner.svelte.ts";

/** Tells the engine of a returned network, and wakes it when the page comes back from sleep. */
export function watchPage(scanner: Scanner): () => void {
  const online = () => scanner.input({ type: "online" });
  // Timers stand still while a phone sleeps: what was due is due now.
  const visible = () => {
    if (document.visibilityState === "visible") scanner.input({ type: "tick" });
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

/** Reports the battery level where the browser knows it. */
export function watchBattery(scanner: Scanner): () => void {
  const source = (navigator as { getBattery?: () => Promise<BatteryManager> }).getBattery;
  let ended = false;
  let stop = () => {};
  void source?.call(navigator).then(
    (battery) => {
      if (ended) return;
      const report = () => scanner.input({ type: "battery", percent: Math.round(battery.level * 100) });
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

/** Keeps the screen lit while `wanted`; the system drops the lock whenever the page is hidden. */
export function watchWakeLock(wanted: () => boolean): () => void {
  let held: WakeLockSentinel | null = null;
  const ask = async () => {
    if (document.visibilityState !== "visible" || !wanted() || (held !== null && !held.released)) return;
    try {
      held = await navigator.wakeLock.request("screen");
    } catch {
      // Not supported, or battery saving is on: the screen dims as the phone is set to.
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
