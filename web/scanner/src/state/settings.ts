/** How this phone behaves: kept on it alone, and worth nothing if lost. */
export interface Settings {
  sound: boolean;
  /** 0–1. */
  volume: number;
  vibration: boolean;
  theme: "night" | "light";
  /** How long "Admit" fills the screen, milliseconds (800–3000). */
  dwellMs: number;
  /** The hardware scanner of this phone acts as a keyboard app: a hidden field keeps the focus. */
  keyboardScanner: boolean;
}

export const DEFAULTS: Settings = {
  sound: true,
  volume: 0.8,
  vibration: true,
  theme: "night",
  dwellMs: 1500,
  keyboardScanner: false,
};

const KEY = "admit-settings";

/** `storage` is a function: where site data is blocked, even naming it throws. */
export function loadSettings(storage: () => Pick<Storage, "getItem"> = () => localStorage): Settings {
  try {
    return merge(JSON.parse(storage().getItem(KEY) ?? "{}"));
  } catch {
    return { ...DEFAULTS };
  }
}

export function saveSettings(settings: Settings, storage: () => Pick<Storage, "setItem"> = () => localStorage): void {
  try {
    storage().setItem(KEY, JSON.stringify(settings));
  } catch {
    // Full or forbidden: they hold until the page closes.
  }
}

/** Takes each value that has the right shape; an older or a meddled-with copy costs only that value. */
export function merge(found: unknown): Settings {
  const from = (typeof found === "object" && found !== null ? found : {}) as Partial<Record<keyof Settings, unknown>>;
  const flag = (value: unknown, otherwise: boolean) => (typeof value === "boolean" ? value : otherwise);
  const number = (value: unknown, low: number, high: number, otherwise: number) =>
    typeof value === "number" && value >= low && value <= high ? value : otherwise;
  return {
    sound: flag(from.sound, DEFAULTS.sound),
    volume: number(from.volume, 0, 1, DEFAULTS.volume),
    vibration: flag(from.vibration, DEFAULTS.vibration),
    theme: from.theme === "light" ? "light" : "night",
    dwellMs: number(from.dwellMs, 800, 3000, DEFAULTS.dwellMs),
    keyboardScanner: flag(from.keyboardScanner, DEFAULTS.keyboardScanner),
  };
}
