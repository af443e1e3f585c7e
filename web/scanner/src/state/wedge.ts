import { character, ownCharacter, type Press } from "./layout.ts";

/** A gap longer than this ends what was being typed, milliseconds. Real scanners were measured up to 91 ms. */
export const GAP_MS = 500;
/** How readers press the separator of GS1 codes (GS): Control and ]. */
const GROUP_SEPARATOR = "\u001d";
/** From this many characters on, a run outside text fields is a code at any speed. */
const SHORTEST = 4;
/** Fewer than those are a code only if they came too fast for fingers: shortcuts are pressed one by one. */
const SHORTEST_IF_FAST = 2;
/** In a text field only what is too long for a PIN and too fast for fingers is a scanner. */
const SHORTEST_IN_FIELD = 9;
const FASTEST_FINGERS_MS = 110;
/** A single key is a shortcut only if nothing follows for this long, milliseconds: else it began a code. */
const ALONE_MS = 250;

export type Key = Press &
  Pick<KeyboardEvent, "ctrlKey" | "altKey" | "metaKey" | "isComposing" | "preventDefault" | "target" | "timeStamp">;

export interface WedgeEvents {
  /** A whole code came: as a US keyboard has it, and as the computer's own layout has it. */
  code(text: string, own: string): void;
  /** One key alone, outside text fields: its character, or `Enter`. */
  key(name: string): void;
}

interface Field {
  element: HTMLInputElement | HTMLTextAreaElement;
  before: string;
}

/**
 * Hardware scanners that type ("keyboard wedge"): a run of characters ended by Enter or Tab with no gap over 500 ms
 * (experience §7). One listener for the page, so that a scan counts wherever the focus is.
 */
export class Wedge {
  #text = "";
  /** The same keys in the computer's own layout. */
  #own = "";
  #first = 0;
  #last = -Infinity;
  /** The longest gap between two characters so far, milliseconds. */
  #slowest = 0;
  #field: Field | null = null;
  /** The one character typed so far was already taken as a key. */
  #fired = false;
  #alone: ReturnType<typeof setTimeout> | null = null;
  #silence: ReturnType<typeof setTimeout> | null = null;
  /** When a code was finished last: some scanners end it twice. */
  #finished = -Infinity;
  /** A character that was taken as a key, and that the field under it will tell of once more. */
  #echo = "";

  constructor(
    private readonly events: WedgeEvents,
    private readonly timers: Pick<typeof globalThis, "setTimeout" | "clearTimeout"> = globalThis,
  ) {}

  keydown(event: Key): void {
    if (event.isComposing) return;
    const now = event.timeStamp;
    if (event.ctrlKey || event.altKey || event.metaKey) {
      this.#withModifier(event, now);
      return;
    }
    this.#echo = "";
    if (now - this.#last > GAP_MS) this.#reset();
    if (event.key === "Enter" || event.code === "Enter" || event.code === "NumpadEnter" || event.key === "Tab") {
      this.#terminator(event);
      return;
    }
    const char = character(event);
    const own = ownCharacter(event);
    if (char === null && own === null) return;
    this.#take(char ?? own ?? "", own ?? char ?? "", now, event);
  }

  /** AltGr is how other layouts type brackets and backslashes; inside a code Control and ] are the separator of GS1. */
  #withModifier(event: Key, now: number): void {
    const own = ownCharacter(event);
    if (now - this.#last > GAP_MS) this.#reset();
    if (event.getModifierState?.("AltGraph") === true) {
      if (own !== null) this.#take(own, own, now, event);
    } else if (this.#text === "") {
      return;
    } else if (event.ctrlKey && !event.altKey && !event.metaKey && event.code === "BracketRight") {
      this.#take(GROUP_SEPARATOR, GROUP_SEPARATOR, now, event);
    }
  }

  /** Text that came without keys (an Android scanner that acts as a keyboard app). `at` on the clock of events. */
  input(text: string, at: number): void {
    const echo = this.#echo;
    this.#echo = "";
    if (echo !== "" && text === echo) return;
    if (at - this.#last > GAP_MS) this.#reset();
    this.#cancelAlone();
    for (const char of text) {
      if (char === "\n" || char === "\t") {
        this.#finish(at, this.#isCode(at));
        continue;
      }
      this.#time(at);
      this.#text += char;
      this.#own += char;
    }
    // A keyboard app may send no key at the end, and nobody types into the page's ear: silence ends the code.
    if (this.#text !== "") this.#silence = this.timers.setTimeout(() => this.#finish(at, [...this.#text].length >= SHORTEST), GAP_MS);
  }

  /** Takes the time of a character that is about to be added. */
  #time(now: number): void {
    if (this.#text === "") {
      this.#first = now;
      this.#slowest = 0;
    } else {
      this.#slowest = Math.max(this.#slowest, now - this.#last);
    }
    this.#last = now;
  }

  #take(char: string, own: string, now: number, event: Key): void {
    const field = textField(event.target);
    // A key that opened a field was a person's: what they type into that field is not the rest of a code.
    if (this.#fired && field !== null && this.#field === null) this.#reset();
    if (this.#text === "") this.#field = field === null ? null : { element: field, before: field.value };
    this.#time(now);
    this.#text += char;
    this.#own += own;
    this.#cancelAlone();
    if (field !== null) return;
    if (this.#text.length === 1) {
      this.#echo = char;
      // Space presses the focused button; every other key alone may be a shortcut.
      if (char === " " && isControl(event.target)) return;
      if (char === " ") event.preventDefault();
      this.#alone = this.timers.setTimeout(() => {
        this.#alone = null;
        // Kept all the same: a scanner slower than any we saw may still go on with its code.
        this.#fired = true;
        this.events.key(char);
      }, ALONE_MS);
    } else {
      // Inside a code a space must not press a button, nor a slash open the browser's search.
      event.preventDefault();
      // A person who presses a second shortcut within GAP_MS loses it, and within ALONE_MS loses the first too. That is by
      // design: a slow reader's code begins the same way, and its keys must never undo a scan or answer a question. Waiting
      // for the silence that ends a code would tell them apart. The key would then act later than FRESH_MS after it was
      // pressed, and could answer a verdict that came in between.
    }
  }

  #terminator(event: Key): void {
    if (this.#isCode(event.timeStamp)) {
      event.preventDefault();
      this.#finish(event.timeStamp, true);
      return;
    }
    // The second end of the same code is not "next": its verdict was not seen yet.
    if (this.#text === "" && event.timeStamp - this.#finished <= GAP_MS) {
      this.#finished = event.timeStamp;
      event.preventDefault();
      return;
    }
    const nothing = this.#text === "" || (this.#fired && this.#text.length === 1);
    this.#reset();
    if (event.key !== "Tab" && nothing && textField(event.target) === null && !isControl(event.target)) {
      this.events.key("Enter");
    }
  }

  #isCode(now: number): boolean {
    const length = [...this.#text].length;
    if (this.#field === null) {
      if (length >= SHORTEST) return true;
      return length >= SHORTEST_IF_FAST && Math.max(this.#slowest, now - this.#last) <= FASTEST_FINGERS_MS;
    }
    return length >= SHORTEST_IN_FIELD && (now - this.#first) / length <= FASTEST_FINGERS_MS;
  }

  /** What was typed ends here; `whole`: it is a code. */
  #finish(at: number, whole: boolean): void {
    this.#finished = at;
    const text = this.#text;
    const own = this.#own;
    const field = this.#field;
    this.#reset();
    if (field !== null && field.element.value !== field.before) {
      field.element.value = field.before;
      field.element.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (whole) this.events.code(text, own);
  }

  #reset(): void {
    this.#text = this.#own = "";
    this.#field = null;
    this.#last = -Infinity;
    this.#fired = false;
    this.#cancelAlone();
  }

  #cancelAlone(): void {
    if (this.#alone !== null) this.timers.clearTimeout(this.#alone);
    if (this.#silence !== null) this.timers.clearTimeout(this.#silence);
    this.#alone = this.#silence = null;
  }
}

function textField(target: EventTarget | null): HTMLInputElement | HTMLTextAreaElement | null {
  const element = target as Partial<HTMLInputElement> | null;
  const tag = element?.tagName?.toUpperCase();
  if (tag === "TEXTAREA") return target as HTMLTextAreaElement;
  if (element?.dataset?.["wedge"] !== undefined) return null;
  if (tag !== "INPUT" || ["checkbox", "radio", "button", "submit", "range"].includes(element?.type ?? "")) return null;
  return target as HTMLInputElement;
}

/** The field that catches what scanners type is none: it is the page's ear (`data-wedge`). */
function isControl(target: EventTarget | null): boolean {
  if ((target as Partial<HTMLElement> | null)?.dataset?.["wedge"] !== undefined) return false;
  const tag = (target as Partial<Element> | null)?.tagName?.toUpperCase() ?? "";
  return ["BUTTON", "A", "SUMMARY", "SELECT", "INPUT"].includes(tag);
}
