/** What a US keyboard types for a key, without and with Shift. Hardware scanners send keys of that layout. */
const PAIRS: Record<string, string> = {
  Minus: "-_",
  Equal: "=+",
  BracketLeft: "[{",
  BracketRight: "]}",
  Backslash: "\\|",
  IntlBackslash: "\\|",
  Semicolon: ";:",
  Quote: "'\"",
  Backquote: "`~",
  Comma: ",<",
  Period: ".>",
  Slash: "/?",
  Space: "  ",
  NumpadDecimal: "..",
  NumpadSubtract: "--",
  NumpadAdd: "++",
  NumpadDivide: "//",
  NumpadMultiply: "**",
};
const SHIFTED_DIGITS = ")!@#$%^&*(";

/** A key press, as far as it says which character it is. */
export type Press = Pick<KeyboardEvent, "code" | "key" | "shiftKey"> & Partial<Pick<KeyboardEvent, "getModifierState">>;

/**
 * The character of a key press, read as a US layout: the phone's own language and Caps Lock do not matter. Falls back to
 * what the browser says when it doesn't name the key. `null`: not a character.
 */
export function character(event: Press): string | null {
  const pair = pairOf(event.code);
  if (pair === null) return event.code === "" && [...event.key].length === 1 ? event.key : null;
  const [plain, shifted] = pair;
  // Some scanners send capitals without holding Shift; then the key's own word counts, unless Caps Lock made it.
  const sentShifted = event.key === shifted && event.getModifierState?.("CapsLock") !== true;
  return event.shiftKey || sentShifted ? shifted : plain;
}

/**
 * The same key press as the computer's own layout has it: what a reader means that is set to that layout (AZERTY, QWERTZ).
 * `null`: not a character.
 */
export function ownCharacter(event: Press): string | null {
  if ([...event.key].length !== 1) return null;
  if (event.getModifierState?.("CapsLock") !== true || event.code === "") return event.key;
  // Caps Lock turned the letter round; the reader did not mean that.
  const [lower, upper] = [event.key.toLowerCase(), event.key.toUpperCase()];
  return lower.length === 1 && upper.length === 1 ? (event.key === lower ? upper : lower) : event.key;
}

/** What a US key types, plain and with Shift. */
function pairOf(code: string): [string, string] | null {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined) return [letter.toLowerCase(), letter];
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  if (digit !== undefined) return [digit, SHIFTED_DIGITS[Number(digit)] ?? digit];
  const numpad = /^Numpad(\d)$/.exec(code)?.[1];
  if (numpad !== undefined) return [numpad, numpad];
  const [plain, shifted] = PAIRS[code] ?? "";
  return plain === undefined || shifted === undefined ? null : [plain, shifted];
}
