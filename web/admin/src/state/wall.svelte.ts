/** The live page on a screen on a wall: no navigation, large, and nobody's name. It stands in the address, so that a link leads to it. */
import { rewrite, route } from "./route.svelte";

export const onWall = (): boolean => new URLSearchParams(route.search).has("wall");

/** Fills the screen where the browser allows it; the page is a wall screen without it too. */
export function toWall(): void {
  rewrite({ wall: "1" }, true);
  document.documentElement.requestFullscreen?.().catch(() => {});
}
export function offWall(): void {
  rewrite({ wall: "" });
  if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
}

/** Keeps the screen awake while it hangs there, and leaves when somebody left the full screen. Gives back what ends it. */
export function hang(): () => void {
  let lock: WakeLockSentinel | undefined;
  let over = false;
  const awake = (): void => {
    if (document.visibilityState !== "visible") return;
    navigator.wakeLock?.request("screen").then((one) => (over ? void one.release() : (lock = one)), () => {});
  };
  const left = (): void => {
    if (!document.fullscreenElement) offWall();
  };
  awake();
  document.documentElement.classList.add("wall");
  document.addEventListener("visibilitychange", awake);
  document.addEventListener("fullscreenchange", left);
  return () => {
    over = true;
    void lock?.release();
    document.documentElement.classList.remove("wall");
    document.removeEventListener("visibilitychange", awake);
    document.removeEventListener("fullscreenchange", left);
  };
}
