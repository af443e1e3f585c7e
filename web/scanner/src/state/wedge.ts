import { character, ownCharacter, type Press } from "./layout.ts";

/** A pause between keys that is longer than this ends a text, milliseconds. Real scanners had pauses of up to 91 ms. */
export const GAP_MS = 500;
/** The separator of GS1 codes (GS). Hardware scanners send it as Control and ]. */
const GROUP_SEPARATOR = "\u001d";
/** Outside text fields, this many characters or more are a code at any speed. */
const SHORTEST = 4;
/** From this length up to `SHORTEST`, a text is a code only if no person types so fast. Otherwise they are shortcuts. */
const SHORTEST_IF_FAST = 2;
/** In a text field, a text is a code only if it is longer than a PIN and faster than a person types. */
const SHORTEST_IN_FIELD = 9;
const FASTEST_FINGERS_MS = 110;
/** A single key is a shortcut if no other key follows within this time, milliseconds. Otherwise it is the start of a code. */
const ALONE_MS = 250;

export type Key = Press &
  Pick<KeyboardEvent, "ctrlKey" | "altKey" | "metaKey" | "isComposing" | "preventDefault" | "target" | "timeStamp">;

export interface WedgeEvents {
  /** A whole code came. `text`: read as a US keyboard. `own`: read in the computer's own layout. */
  code(text: string, own: string): void;
  /** A single key outside text fields was pressed. `name`: its character, or `Enter`. */
  key(name: string): void;
}

interface Field {
  element: HTMLInputElement | HTMLTextAreaElement;
  before: string;
}

/**
 * Recognises codes of hardware scanners that act as keyboards ("keyboard wedge"). A code is a series of characters that ends with
 * Enter or Tab and has no pause over 500 ms (experience §7). The whole page has one listener, wherever the focus is.
 */
export class Wedge {
  #text = "";
  /** The text of the same keys in the computer's own layout. */
  #own = "";
  #first = 0;
  #last = -Infinity;
  /** The longest pause between two characters so far, milliseconds. */
  #slowest = 0;
  #field: Field | null = null;
  /** Whether the only character so far was already handled as a shortcut. */
  #fired = false;
  #alone: ReturnType<typeof setTimeout> | null = null;
  #silence: ReturnType<typeof setTimeout> | null = null;
  /** When the last code ended. Some scanners send Enter or Tab twice. */
  #finished = -Infinity;
  /** A character that came as a key press. The hidden field reports the same character once more. */
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

  /** Handles keys with a modifier. AltGr types brackets and backslashes in some layouts. Inside a code, Control and ] are the GS1 separator. */
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

  /** Takes text that came without key presses, from an Android scanner that acts as a keyboard app. `at`: an event's `timeStamp`. */
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
    // A keyboard app may send no Enter, so a pause ends the code. That is safe, because no person types into the hidden field.
    if (this.#text !== "") this.#silence = this.timers.setTimeout(() => this.#finish(at, [...this.#text].length >= SHORTEST), GAP_MS);
  }

  /** Notes the time of the character that is added next. */
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
    // A shortcut opened a field, so a person typed it. Their next keys in that field are not the rest of a code.
    if (this.#fired && field !== null && this.#field === null) this.#reset();
    if (this.#text === "") this.#field = field === null ? null : { element: field, before: field.value };
    this.#time(now);
    this.#text += char;
    this.#own += own;
    this.#cancelAlone();
    if (field !== null) return;
    if (this.#text.length === 1) {
      this.#echo = char;
      // The browser lets Space press the focused button. Any other single key may be a shortcut.
      if (char === " " && isControl(event.target)) return;
      if (char === " ") event.preventDefault();
      this.#alone = this.timers.setTimeout(() => {
        this.#alone = null;
        // The character stays in `#text`, because a very slow scanner may still continue its code.
        this.#fired = true;
        this.events.key(char);
      }, ALONE_MS);
    } else {
      // Inside a code, a space must not press a button, and a slash must not open the browser's search.
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
    // This is the second Enter or Tab of the same code. It must not count as the shortcut "next". The time counts from the
    // code's end: a person who presses Tab again and again after a scan moves on after half a second.
    if (this.#text === "" && event.timeStamp - this.#finished <= GAP_MS) {
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

  /** Ends the present text. `whole`: whether it is a code. */
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

/** Whether the target is a control. The hidden field for scanners (`data-wedge`) is not. */
function isControl(target: EventTarget | null): boolean {
  if ((target as Partial<HTMLElement> | null)?.dataset?.["wedge"] !== undefined) return false;
  const tag = (target as Partial<Element> | null)?.tagName?.toUpperCase() ?? "";
  return ["BUTTON", "A", "SUMMARY", "SELECT", "INPUT"].includes(tag);
}
