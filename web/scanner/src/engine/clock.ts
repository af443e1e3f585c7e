import type { Now } from "../../../shared/core/engine.ts";

/** The clocks and the randomness of this tab: the engine has none of its own. */
export interface Clock {
  /** Names the monotonic clock of this start; another start has another. */
  readonly sessionId: string;
  now(): Now;
  /** Monotonic, whole milliseconds. */
  mono(): number;
}

export function systemClock(): Clock {
  const mono = () => Math.floor(performance.now());
  return {
    sessionId: hex(crypto.getRandomValues(new Uint8Array(16))),
    mono,
    now: () => ({
      wall_ms: Date.now(),
      mono_ms: mono(),
      random: Array.from(crypto.getRandomValues(new Uint8Array(32))),
    }),
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
