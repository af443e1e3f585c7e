import type { Now } from "../../../shared/core/engine.ts";

/** The clocks and random numbers of this tab. The engine has none of its own and gets them with each input. */
export interface Clock {
  /** The id of this start. The monotonic clock begins at zero at each start, so its times are comparable only under one id. */
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
