/** The characters of each key on a US keyboard, without and with Shift. Most hardware scanners send keys of that layout. */
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

/** The parts of a key press that tell its character. */
export type Press = Pick<KeyboardEvent, "code" | "key" | "shiftKey"> & Partial<Pick<KeyboardEvent, "getModifierState">>;

/**
 * The character of a key press on a US keyboard, whatever the phone's own layout and Caps Lock are. If the browser does not name
 * the key, this is the browser's own character. `null`: the key types no character.
 */
export function character(event: Press): string | null {
  const pair = pairOf(event.code);
  if (pair === null) return event.code === "" && [...event.key].length === 1 ? event.key : null;
  const [plain, shifted] = pair;
  // Some scanners send capitals without Shift. Then `event.key` decides, unless Caps Lock made it a capital.
  const sentShifted = event.key === shifted && event.getModifierState?.("CapsLock") !== true;
  return event.shiftKey || sentShifted ? shifted : plain;
}

/**
 * The character of a key press in the computer's own layout. A hardware scanner that is set to that layout (AZERTY, QWERTZ) means
 * this character. `null`: the key types no character.
 */
export function ownCharacter(event: Press): string | null {
  if ([...event.key].length !== 1) return null;
  if (event.getModifierState?.("CapsLock") !== true || event.code === "") return event.key;
  // Caps Lock changed the letter between small and capital. This undoes that, since the scanner did not mean it.
  const [lower, upper] = [event.key.toLowerCase(), event.key.toUpperCase()];
  return lower.length === 1 && upper.length === 1 ? (event.key === lower ? upper : lower) : event.key;
}

/** The characters of a key on a US keyboard, without and with Shift. Null: the key types no character. */
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
