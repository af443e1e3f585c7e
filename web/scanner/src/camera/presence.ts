/** A code must be out of view this long before it may be offered again, milliseconds. */
const GONE_MS = 1200;
/** And this long must have passed since its verdict, milliseconds. */
const AGAIN_MS = 3000;
/** After two codes at once, one alone counts only after this: the other may just have missed a frame. */
const CROWD_MS = 400;
/** Nobody holds a code out of view this long and still means the same showing, milliseconds. */
const FORGET_MS = 60_000;

interface Seen {
  lastSeen: number;
  /** When it was offered; its verdict moves this forward. */
  since: number;
}

export type Sight = { kind: "nothing" } | { kind: "crowd" } | { kind: "code"; text: string };

const NOTHING: Sight = { kind: "nothing" };

/**
 * One verdict per showing: a ticket held under the camera is offered once, however many frames it is in (experience
 * §7.2). Times are milliseconds of one monotonic clock.
 */
export class Presence {
  readonly #seen = new Map<string, Seen>();
  #crowdUntil = -Infinity;

  /** What one frame showed: at most one code to offer. */
  see(texts: readonly string[], now: number): Sight {
    const distinct = [...new Set(texts)];
    for (const [text, seen] of this.#seen) if (now - seen.lastSeen > FORGET_MS) this.#seen.delete(text);
    if (distinct.length > 1) {
      this.#crowdUntil = now + CROWD_MS;
      // Neither is offered, but both are in view: one that already had its verdict must not get another.
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

  /** The engine did not look at it: it may be offered again at once. */
  declined(text: string): void {
    this.#seen.delete(text);
  }

  /** Notes that a code is in view; true when that is still the showing that was already offered. */
  #touch(text: string, now: number): boolean {
    const seen = this.#seen.get(text);
    if (seen === undefined) return false;
    const over = now - seen.lastSeen >= GONE_MS && now - seen.since >= AGAIN_MS;
    if (!over) seen.lastSeen = now;
    return !over;
  }
}
