/** The live page for a screen on a wall: large, without navigation and without names. The address says so, so that a link can open it. */
import { rewrite, route } from "./route.svelte";

export const onWall = (): boolean => new URLSearchParams(route.search).has("wall");

/** Shows the page for a wall, in full screen if the browser allows that. */
export function toWall(): void {
  rewrite({ wall: "1" }, true);
  document.documentElement.requestFullscreen?.().catch(() => {});
}
export function offWall(): void {
  rewrite({ wall: "" });
  if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
}

/** Keeps the screen awake, and leaves the wall page when somebody ends full screen. The returned function ends this. */
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
