import type { Timestamp, View } from "../../../shared/core/engine.ts";

declare const server: unique symbol;
/**
 * A moment by the server's clock, milliseconds. The engine's times (of a list, a scan, a receipt) are by that clock, and a
 * phone's own clock may be hours off. This type keeps the two from being mixed up.
 */
export type ServerTime = number & { readonly [server]: true };

/** The server's time when the phone's clock says `wall`. `offset`: how far the phone's clock is behind, milliseconds. */
export function serverTime(wall: number, offset: number): ServerTime {
  return (wall + offset) as ServerTime;
}

/** Milliseconds from one of the engine's times to now, at least 0. */
export function since(at: Timestamp, now: ServerTime): number {
  return Math.max(0, now - Date.parse(at));
}

const KEY = "admit-clock";

/**
 * How far the phone's clock is behind the server's. The engine's views say it, but only after the first exchange of times since
 * the start, which needs a network. Until then the last known value holds.
 */
export class ClockOffset {
  #last: number | null;

  /** `storage` is a function, because reading `localStorage` throws where the browser blocks site data. */
  constructor(private readonly storage: () => Pick<Storage, "getItem" | "setItem"> = () => localStorage) {
    this.#last = this.#load();
  }

  of(view: Pick<View, "clock_offset_ms"> | null): number {
    return view?.clock_offset_ms ?? this.#last ?? 0;
  }

  /** Takes the offset of a view, and stores it for later starts. */
  take(view: Pick<View, "clock_offset_ms">): void {
    const offset = view.clock_offset_ms;
    if (offset === null || offset === this.#last) return;
    this.#last = offset;
    try {
      this.storage().setItem(KEY, String(offset));
    } catch {
      // The storage is full or forbidden. The offset then holds until the page closes.
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
