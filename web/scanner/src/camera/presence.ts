/** A code must be out of view this long before it may be offered again, milliseconds. */
const GONE_MS = 1200;
/** This long must also have passed since the code's verdict before it may be offered again, milliseconds. */
const AGAIN_MS = 3000;
/** After a frame with two codes, one code is offered only after this time, milliseconds. The other may be missing in one frame only. */
const CROWD_MS = 400;
/** A code that was out of view this long is forgotten, milliseconds. */
const FORGET_MS = 60_000;

interface Seen {
  lastSeen: number;
  /** When the code was offered; once its verdict is shown, the time of that. */
  since: number;
}

export type Sight = { kind: "nothing" } | { kind: "crowd" } | { kind: "code"; text: string };

const NOTHING: Sight = { kind: "nothing" };

/**
 * Gives one verdict per showing: a ticket that a person holds before the camera is offered to the engine once, however many
 * frames show it (experience §7.2). Times are milliseconds of one monotonic clock.
 */
export class Presence {
  readonly #seen = new Map<string, Seen>();
  #crowdUntil = -Infinity;

  /** Takes the codes in one frame. Gives at most one code to offer. */
  see(texts: readonly string[], now: number): Sight {
    const distinct = [...new Set(texts)];
    for (const [text, seen] of this.#seen) if (now - seen.lastSeen > FORGET_MS) this.#seen.delete(text);
    if (distinct.length > 1) {
      this.#crowdUntil = now + CROWD_MS;
      // Neither code is offered. Both are noted as in view, so that one with a verdict does not get another.
      for (const text of distinct) this.#touch(text, now);
      return { kind: "crowd" };
    }
    const text = distinct[0];
    if (text === undefined) return NOTHING;
    if (this.#touch(text, now) || now < this.#crowdUntil) return NOTHING;
    this.#seen.set(text, { lastSeen: now, since: now });
    return { kind: "code", text };
  }

  /** The verdict of an offered code is on the screen. */
  verdict(text: string, now: number): void {
    const seen = this.#seen.get(text);
    if (seen !== undefined) seen.since = now;
  }

  /** The engine did not judge the code, so it may be offered again at once. */
  declined(text: string): void {
    this.#seen.delete(text);
  }

  /** Notes that a code is in view. True if this is still the showing in which it was offered. */
  #touch(text: string, now: number): boolean {
    const seen = this.#seen.get(text);
    if (seen === undefined) return false;
    const over = now - seen.lastSeen >= GONE_MS && now - seen.since >= AGAIN_MS;
    if (!over) seen.lastSeen = now;
    return !over;
  }
}
