import type { Screen } from "../../../shared/core/engine.ts";
import type { Settings } from "./settings.ts";

/** What came of one reading: the text to hand in next, or which layout the reader has; null: nothing to do, nothing learnt. */
export interface Judged {
  again: string | null;
  ownLayout: boolean | null;
}

const NOTHING: Judged = { again: null, ownLayout: null };

/**
 * A hardware scanner that types sends keys, and what they mean depends on the layout it is set to: US, or the computer's own.
 * Both readings are handed in, one after the other, until one is a ticket here; that layout comes first from then on, so
 * that only the first code of a shift may be asked about twice. (Once the engine takes several readings of one code, the
 * second is handed in beside the first.)
 */
export class Readings {
  #open: { at: number; other: string; firstIsOwn: boolean; second: boolean } | null = null;

  /** The text to hand in first, without the reader's fixed text; empty: nothing is left of it. `at` names the code. */
  begin(us: string, own: string, at: number, settings: Pick<Settings, "prefix" | "suffix" | "ownLayout">): string {
    const [a, b] = [us, own].map((text) => withoutFixed(text, settings.prefix, settings.suffix)) as [string, string];
    this.#open = null;
    if (a === b) return a;
    const firstIsOwn = settings.ownLayout;
    this.#open = { at, other: firstIsOwn ? a : b, firstIsOwn, second: false };
    return firstIsOwn ? b : a;
  }

  /** The engine's verdict on the code of `at`. */
  judged(at: number | undefined, screen: Screen): Judged {
    const open = this.#open;
    if (open === null || at === undefined || Math.abs(at - open.at) > 0.5) return NOTHING;
    const unknown = screen === "not_in_list" || screen === "not_a_ticket";
    if (unknown && !open.second) {
      this.#open = { ...open, second: true };
      return { again: open.other, ownLayout: null };
    }
    this.#open = null;
    return unknown ? NOTHING : { again: null, ownLayout: open.second ? !open.firstIsOwn : open.firstIsOwn };
  }
}

/** Takes away what the reader adds: only where it stands, and never the whole. */
export function withoutFixed(text: string, prefix: string, suffix: string): string {
  let code = text;
  if (prefix !== "" && code.length > prefix.length && code.startsWith(prefix)) code = code.slice(prefix.length);
  if (suffix !== "" && code.length > suffix.length && code.endsWith(suffix)) code = code.slice(0, -suffix.length);
  return code;
}
