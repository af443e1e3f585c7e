import type { Timestamp, View } from "../../../shared/core/engine.ts";

declare const server: unique symbol;
/**
 * A moment by the server's clock, milliseconds. All that the engine dates (a list, a scan, a receipt) goes by that clock,
 * and a phone's own may be hours off: a type of its own, so that the two are not mixed up.
 */
export type ServerTime = number & { readonly [server]: true };

/** The server's time when the phone's clock says `wall`; `offset` is how far the phone's clock is behind. */
export function serverTime(wall: number, offset: number): ServerTime {
  return (wall + offset) as ServerTime;
}

/** Milliseconds since something that the engine dated. */
export function since(at: Timestamp, now: ServerTime): number {
  return Math.max(0, now - Date.parse(at));
}

const KEY = "admit-clock";

/**
 * How far the phone's clock is behind the server's, as the engine's views tell it. They don't before the first exchange
 * of a start, and without a network there is none: until then the last one known holds.
 */
export class ClockOffset {
  #last: number | null;

  /** `storage` is a function: where site data is blocked, even naming it throws. */
  constructor(private readonly storage: () => Pick<Storage, "getItem" | "setItem"> = () => localStorage) {
    this.#last = this.#load();
  }

  of(view: Pick<View, "clock_offset_ms"> | null): number {
    return view?.clock_offset_ms ?? this.#last ?? 0;
  }

  /** Takes what a view says, for later starts too. */
  take(view: Pick<View, "clock_offset_ms">): void {
    const offset = view.clock_offset_ms;
    if (offset === null || offset === this.#last) return;
    this.#last = offset;
    try {
      this.storage().setItem(KEY, String(offset));
    } catch {
      // Full or forbidden: it holds until the page closes.
    }
  }

  #load(): number | null {
    try {
      const kept = this.storage().getItem(KEY);
      return kept !== null && /^-?\d{1,15}$/.test(kept) ? Number(kept) : null;
    } catch {
      return null;
    }
  }
}
