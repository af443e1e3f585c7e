/** The server's time, updated regularly while a component is shown. Ages and countdowns use it. */
import { onMount } from "svelte";
import { serverTime } from "../../../shared/api/client";

export function ticking(every = 1_000): { readonly now: number } {
  let now = $state(serverTime());
  onMount(() => {
    const tick = setInterval(() => (now = serverTime()), every);
    return () => clearInterval(tick);
  });
  return {
    get now() {
      return now;
    },
  };
}
