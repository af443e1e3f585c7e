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

/**
 * The character of a key press, read as a US layout: the phone's own language and Caps Lock do not matter. Falls back to
 * what the browser says when it doesn't name the key. `null`: not a character.
 */
export function character(event: Pick<KeyboardEvent, "code" | "key" | "shiftKey">): string | null {
  const { code, shiftKey } = event;
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined) return shiftKey ? letter : letter.toLowerCase();
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  if (digit !== undefined) return shiftKey ? (SHIFTED_DIGITS[Number(digit)] ?? null) : digit;
  const numpad = /^Numpad(\d)$/.exec(code)?.[1];
  if (numpad !== undefined) return numpad;
  const pair = PAIRS[code];
  if (pair !== undefined) return pair[shiftKey ? 1 : 0] ?? null;
  if (code !== "") return null;
  return [...event.key].length === 1 ? event.key : null;
}
