import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { character } from "./layout.ts";
import { Wedge, type Key } from "./wedge.ts";

let codes: string[];
/** The text of the keys in both layouts: [US, the computer's own]. */
let both: [string, string][];
let keys: string[];
let wedge: Wedge;
let clock: number;

beforeEach(() => {
  vi.useFakeTimers();
  codes = [];
  both = [];
  keys = [];
  clock = 1000;
  wedge = new Wedge({ code: (text, own) => (codes.push(text), both.push([text, own])), key: (name) => keys.push(name) });
});
afterEach(() => {
  vi.useRealTimers();
});

const BODY = { tagName: "BODY" } as unknown as EventTarget;

interface Stroke {
  code: string;
  key?: string;
  shiftKey?: boolean;
  target?: EventTarget;
  ctrlKey?: boolean;
}

/** Presses a key after `gap` milliseconds. Gives whether the page prevented the browser's own action. */
function press({ code, key = "?", shiftKey = false, target = BODY, ctrlKey = false }: Stroke, gap = 3): boolean {
  vi.advanceTimersByTime(gap);
  clock += gap;
  let prevented = false;
  const event: Key = {
    code,
    key,
    shiftKey,
    ctrlKey,
    altKey: false,
    metaKey: false,
    isComposing: false,
    target,
    timeStamp: clock,
    preventDefault: () => (prevented = true),
  };
  wedge.keydown(event);
  return prevented;
}

/** Types letters, digits and dashes as a US scanner would. */
function type(text: string, gap = 3, target: EventTarget = BODY): void {
  for (const char of text) {
    const upper = char >= "A" && char <= "Z";
    const code = /[a-z]/i.test(char) ? `Key${char.toUpperCase()}` : /\d/.test(char) ? `Digit${char}` : "Minus";
    press({ code, shiftKey: upper, target }, gap);
    if ("value" in target) (target as HTMLInputElement).value += char;
  }
}

const enter = (gap = 3, target: EventTarget = BODY) => press({ code: "Enter", key: "Enter", target }, gap);

function field(value = "", type = "text") {
  const events: string[] = [];
  const element = {
    tagName: "INPUT",
    type,
    value,
    dispatchEvent: (event: Event) => events.push(event.type),
  } as unknown as HTMLInputElement;
  return { element, events };
}

test.each([0, 3, 15, 60, 91, 240])("a code typed with gaps of %i ms is one code, and no key", (gap) => {
  type("TOKEN-A-0001", gap);
  const prevented = enter(gap);
  expect(codes).toEqual(["TOKEN-A-0001"]);
  expect(prevented).toBe(true);
  expect(keys).toEqual([]);
});

test("even at 480 ms a key it is one code", () => {
  type("TOKEN-A-0001", 480);
  enter(480);
  expect(codes).toEqual(["TOKEN-A-0001"]);
});

test("a key and then Enter: both count", () => {
  press({ code: "KeyU" });
  enter(400);
  expect(keys).toEqual(["u", "Enter"]);
});

test.each([
  ["EXP", 3],
  ["EXP", 91],
  ["A7", 15],
])("%s, typed too fast for fingers (%i ms) and ended by Enter, is a code however short", (text, gap) => {
  type(text, gap);
  expect(enter(gap)).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(codes).toEqual([text]);
  expect(keys, "no shortcut was pressed").toEqual([]);
});

test("short codes follow each other, each with its own Enter", () => {
  for (const code of ["EXP", "VIP"]) {
    type(code);
    enter();
    vi.advanceTimersByTime(300);
    clock += 300;
  }
  expect([codes, keys]).toEqual([["EXP", "VIP"], []]);
});

test("a short code that came without keys needs its Enter: silence alone makes none", () => {
  wedge.input("EXP\n", 5000);
  expect(codes).toEqual(["EXP"]);
  wedge.input("VIP", 9000);
  vi.advanceTimersByTime(1000);
  expect(codes).toEqual(["EXP"]);
});

test("shortcut keys pressed one after another are shortcuts, and Enter after them is Enter", () => {
  for (const letter of ["U", "H"]) {
    press({ code: `Key${letter}` }, 600);
    vi.advanceTimersByTime(250);
    clock += 250;
  }
  enter(600);
  expect([codes, keys]).toEqual([[], ["u", "h", "Enter"]]);
});

test.each([
  [["u"], 300],
  [["u"], 499],
  [[], 200],
  [["u", "h"], 501],
])("of U and H only %j acts where H comes %i ms later: a slow reader's code begins like that", (acts, later) => {
  press({ code: "KeyU" });
  press({ code: "KeyH" }, later);
  vi.advanceTimersByTime(1000);
  expect([codes, keys]).toEqual([[], acts]);
});

test("two keys as fast as fingers and Enter are no code", () => {
  press({ code: "KeyU" });
  press({ code: "KeyU" }, 160);
  enter(160);
  expect(codes).toEqual([]);
});

test.each([200, 499, 900])("a quick double press of a shortcut key, and Enter %i ms later, are no code", (later) => {
  press({ code: "KeyU" });
  press({ code: "KeyU" }, 60);
  enter(later);
  vi.advanceTimersByTime(1000);
  expect(codes).toEqual([]);
});

test("one character and Enter are no code, however fast", () => {
  press({ code: "Digit2" });
  enter();
  expect(codes).toEqual([]);
});

test("a short run in a text field is the person's", () => {
  const pin = field("", "password");
  type("123", 15, pin.element);
  expect(enter(15, pin.element)).toBe(false);
  expect(codes).toEqual([]);
});

test("Tab ends a code as Enter does", () => {
  type("TOKEN-A-0001");
  press({ code: "Tab", key: "Tab" });
  expect(codes).toEqual(["TOKEN-A-0001"]);
});

test("after a code, Tab pressed again and again moves the focus as soon as half a second is over", () => {
  type("TOKEN-A-0001");
  enter();
  const swallowed = Array.from({ length: 10 }, () => press({ code: "Tab", key: "Tab" }, 100));
  expect(swallowed).toEqual([true, true, true, true, true, false, false, false, false, false]);
});

test("a gap over half a second ends what was being typed: only what follows is the code", () => {
  type("LOST");
  vi.advanceTimersByTime(501);
  clock += 501;
  type("TOKEN-A-0001");
  enter();
  expect(codes).toEqual(["TOKEN-A-0001"]);
});

test("without its Enter nothing is a code", () => {
  type("TOKEN-A-0001");
  vi.advanceTimersByTime(2000);
  clock += 2000;
  enter(0);
  expect(codes).toEqual([]);
});

test("keys are read as a US layout, whatever the phone's language or Caps Lock makes of them", () => {
  expect(character({ code: "KeyY", key: "z", shiftKey: false })).toBe("y");
  expect(character({ code: "KeyA", key: "Q", shiftKey: false })).toBe("a");
  expect(character({ code: "Digit1", key: "&", shiftKey: false })).toBe("1");
  expect(character({ code: "Minus", key: "ß", shiftKey: false })).toBe("-");
  expect(character({ code: "Slash", key: "-", shiftKey: true })).toBe("?");
  expect(character({ code: "Semicolon", key: "ö", shiftKey: true })).toBe(":");
  expect(character({ code: "", key: "é", shiftKey: false })).toBe("é");
  expect(character({ code: "", key: "Unidentified", shiftKey: false })).toBeNull();
  expect(character({ code: "ShiftLeft", key: "Shift", shiftKey: true })).toBeNull();
});

test("capitals sent without Shift stay capitals; Caps Lock makes none", () => {
  const press = (caps: boolean) => ({ code: "KeyT", key: "T", shiftKey: false, getModifierState: () => caps });
  expect(character(press(false))).toBe("T");
  expect(character(press(true))).toBe("t");
  expect(character({ code: "Minus", key: "_", shiftKey: false })).toBe("_");
});

test("a digit alone is a key; a digit that begins a code is not", () => {
  press({ code: "Digit2" });
  expect(keys, "it waits to see whether a code follows").toEqual([]);
  vi.advanceTimersByTime(250);
  expect(keys).toEqual(["2"]);
  clock += 1000;
  type("2024-ABCD", 91);
  enter();
  vi.advanceTimersByTime(1000);
  expect(keys).toEqual(["2"]);
  expect(codes).toEqual(["2024-ABCD"]);
});

test("Enter alone means next; on a button or in a field it is theirs", () => {
  enter();
  expect(keys).toEqual(["Enter"]);
  enter(1000, { tagName: "BUTTON" } as unknown as EventTarget);
  enter(1000, field().element);
  expect(keys).toEqual(["Enter"]);
});

test("Enter that ends a code does not press the focused button", () => {
  type("TOKEN-A-0001", 3, { tagName: "BUTTON" } as unknown as EventTarget);
  expect(enter(3, { tagName: "BUTTON" } as unknown as EventTarget)).toBe(true);
  expect(codes).toEqual(["TOKEN-A-0001"]);
});

test.each([0, 15, 60])("a burst in a text field (%i ms) is swallowed and the old text comes back", (gap) => {
  const { element, events } = field("Anna");
  type("TOKEN-A-0001", gap, element);
  expect(element.value).toBe("AnnaTOKEN-A-0001");
  expect(enter(gap, element)).toBe(true);
  expect(codes).toEqual(["TOKEN-A-0001"]);
  expect(element.value).toBe("Anna");
  expect(events).toEqual(["input"]);
});

test("a person typing in a field stays a person", () => {
  const name = field();
  type("north-gate-one", 160, name.element);
  expect(enter(160, name.element)).toBe(false);
  const pin = field("", "password");
  type("12345678", 60, pin.element);
  expect(enter(60, pin.element)).toBe(false);
  expect(codes).toEqual([]);
  expect(pin.element.value).toBe("12345678");
});

test("a key that opens a field, and what a person types into it at once, are no code together", () => {
  press({ code: "Slash", key: "/" });
  vi.advanceTimersByTime(300);
  clock += 300;
  expect(keys).toEqual(["/"]);
  const { element: search } = field();
  type("QX-1234-5", 160, search);
  enter(160, search);
  expect(codes).toEqual([]);
});

test("shortcuts of the browser are left alone", () => {
  press({ code: "KeyS", key: "s", ctrlKey: true });
  vi.advanceTimersByTime(1000);
  expect(keys).toEqual([]);
});

test("text that came without keys is a code as well", () => {
  wedge.input("TOKEN-", 5000);
  wedge.input("A-0001\n", 5100);
  expect(codes).toEqual(["TOKEN-A-0001"]);
});

test("a scanner that ends a code twice does not dismiss its verdict", () => {
  type("ticket-0042");
  enter();
  enter();
  expect([codes, keys]).toEqual([["ticket-0042"], []]);
  vi.advanceTimersByTime(1000);
  enter(1000);
  expect(keys, "a person's Enter, later").toEqual(["Enter"]);
});

test("what a key and the field under it both tell of is one character", () => {
  const ear = { tagName: "INPUT", type: "text", dataset: { wedge: "" } } as unknown as HTMLInputElement;
  for (const [at, char] of [..."ticket0042"].entries()) {
    const prevented = press({ code: /\d/.test(char) ? `Digit${char}` : `Key${char.toUpperCase()}`, target: ear });
    // The field gets an `input` event for each key that the page did not prevent.
    if (!prevented) wedge.input(char, clock);
    expect(prevented).toBe(at > 0);
  }
  enter(3, ear);
  expect(codes).toEqual(["ticket0042"]);
});

test("a reader set to AZERTY gives the printed code in the computer's own layout, one set to US as US", () => {
  // "AZ-17" from a hardware scanner with a French layout on a French computer.
  press({ code: "KeyQ", key: "A", shiftKey: true });
  press({ code: "KeyW", key: "Z", shiftKey: true });
  press({ code: "Digit6", key: "-" });
  press({ code: "Digit1", key: "1", shiftKey: true });
  press({ code: "Digit7", key: "7", shiftKey: true });
  enter();
  expect(both).toEqual([["QW6!&", "AZ-17"]]);
});

test("a reader set to QWERTZ: y and z, the hyphen and brackets by AltGr", () => {
  press({ code: "KeyY", key: "Z", shiftKey: true });
  press({ code: "Slash", key: "-" });
  const altGr = { code: "Digit9", key: "]", ctrlKey: true } as const;
  clock += 3;
  wedge.keydown({ ...altGr, shiftKey: false, altKey: true, metaKey: false, isComposing: false, target: BODY, timeStamp: clock, preventDefault() {}, getModifierState: (name) => name === "AltGraph" });
  press({ code: "KeyZ", key: "y" });
  enter();
  expect(both).toEqual([["Y/]z", "Z-]y"]]);
});

test("Caps Lock on the computer turns no letter round in either reading", () => {
  for (const [code, key, shiftKey] of [["KeyA", "a", true], ["KeyB", "B", false], ["KeyC", "c", true], ["Digit1", "1", false]] as const) {
    clock += 3;
    wedge.keydown({ code, key, shiftKey, ctrlKey: false, altKey: false, metaKey: false, isComposing: false, target: BODY, timeStamp: clock, preventDefault() {}, getModifierState: () => true });
  }
  enter();
  expect(both).toEqual([["AbC1", "AbC1"]]);
});

const US: Record<string, [code: string, shiftKey: boolean]> = { "]": ["BracketRight", false], "\\": ["Backslash", false], "-": ["Minus", false] };
const asUs = (text: string) => {
  for (const char of text) {
    const upper = /[A-Z]/.test(char);
    const [code, shiftKey] = US[char] ?? [/\d/.test(char) ? `Digit${char}` : `Key${char.toUpperCase()}`, upper];
    press({ code, shiftKey, key: char });
  }
};

test.each(["]Q1ZW-000001", "]C1010304", "]Q3010304", "\\000026ZW-000001", "\\000003ZW-000001", "]Q1\\000026ZW-000001"])(
  "what readers put before a code reaches the core untouched: %s",
  (text) => {
    asUs(text);
    enter();
    expect(both).toEqual([[text, text]]);
  },
);

test("the separator of a GS1 code, typed as Control and ], is in the code", () => {
  asUs("0103041");
  expect(press({ code: "BracketRight", key: "]", ctrlKey: true })).toBe(true);
  asUs("10ABC");
  enter();
  expect(both).toEqual([["0103041\u001d10ABC", "0103041\u001d10ABC"]]);
  expect(press({ code: "BracketRight", key: "]", ctrlKey: true }, 900), "alone it is the browser's").toBe(false);
});

test("an Android keyboard app that sends text without keys and no Enter: silence ends the code", () => {
  wedge.input("TOKEN-", 5000);
  vi.advanceTimersByTime(100);
  wedge.input("A-0001", 5100);
  vi.advanceTimersByTime(499);
  expect(both).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(both).toEqual([["TOKEN-A-0001", "TOKEN-A-0001"]]);
});

test("keys without a name of their own (Android) are read by their character alone", () => {
  for (const key of "QX-1z") press({ code: "", key });
  enter();
  expect(both).toEqual([["QX-1z", "QX-1z"]]);
});

test("a code of two or three characters counts where no fingers typed it; fingers press shortcuts", () => {
  type("EXP");
  enter();
  expect(codes).toEqual(["EXP"]);
  clock += 1_000;
  type("A7", 20);
  enter(20);
  expect(codes).toEqual(["EXP", "A7"]);
  // A person presses a shortcut twice, and Enter a moment later.
  clock += 1_000;
  type("hh", 180);
  enter(180);
  expect(codes).toEqual(["EXP", "A7"]);
});
