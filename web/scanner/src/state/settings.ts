import { type ExtraFormat, EXTRA_FORMATS } from "../camera/formats.ts";

/** The settings of this phone. They are stored only on the phone, and losing them does no harm. */
export interface Settings {
  sound: boolean;
  /** 0–1. */
  volume: number;
  vibration: boolean;
  theme: Theme;
  /** The text size in percent of the usual size (100–200). */
  textSize: number;
  /** The hand that staff use. The most used buttons are on its side. */
  hand: "right" | "left";
  /** How long "Admit" fills the screen, milliseconds (800–3000). */
  dwellMs: number;
  /** Whether the hardware scanner of this phone acts as a keyboard app. A hidden field then has the focus. */
  keyboardScanner: boolean;
  /** Fixed text that the hardware scanner adds before and after each code. */
  prefix: string;
  suffix: string;
  /** The browser's id of the camera that a person chose. Empty: the best one for tickets. */
  camera: string;
  /** The id of the camera that the app chose last. */
  lastCamera: string;
  /** Kinds of codes that this phone reads in addition to QR. */
  formats: ExtraFormat[];
  /** The screen locks after this many minutes without a touch or a scan. 0: it does not lock by itself. */
  lockMinutes: number;
  /** Whether the screen is locked, so that it asks for the staff PIN first. */
  locked: boolean;
  /** Whether this device is a kiosk, at which guests scan their own codes. */
  kiosk: boolean;
}

export type Theme = "night" | "light" | "contrast";
export const THEMES: readonly Theme[] = ["night", "light", "contrast"];

export const DEFAULTS: Settings = {
  sound: true,
  volume: 0.8,
  vibration: true,
  theme: "night",
  textSize: 100,
  hand: "right",
  dwellMs: 1500,
  keyboardScanner: false,
  prefix: "",
  suffix: "",
  camera: "",
  lastCamera: "",
  formats: [],
  lockMinutes: 0,
  locked: false,
  kiosk: false,
};

/** The choices for `lockMinutes`. */
export const LOCK_MINUTES: readonly number[] = [0, 2, 5, 15, 30];

const KEY = "admit-settings";
/** The longest prefix or suffix. No hardware scanner adds more. */
export const LONGEST_FIXED_TEXT = 40;
const LONGEST_ID = 400;

/** `storage` is a function, because reading `localStorage` throws where the browser blocks site data. */
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
    // The storage is full or forbidden. The settings then hold until the page closes.
  }
}

/** Takes each stored value that is valid, and the default for each other one. */
export function merge(found: unknown): Settings {
  const from = (typeof found === "object" && found !== null ? found : {}) as Partial<Record<keyof Settings, unknown>>;
  const flag = (value: unknown, otherwise: boolean) => (typeof value === "boolean" ? value : otherwise);
  const number = (value: unknown, low: number, high: number, otherwise: number) =>
    typeof value === "number" && value >= low && value <= high ? value : otherwise;
  const text = (value: unknown, most: number) => (typeof value === "string" && value.length <= most ? value : "");
  const { formats } = from;
  return {
    sound: flag(from.sound, DEFAULTS.sound),
    volume: number(from.volume, 0, 1, DEFAULTS.volume),
    vibration: flag(from.vibration, DEFAULTS.vibration),
    theme: THEMES.find((theme) => theme === from.theme) ?? DEFAULTS.theme,
    textSize: number(from.textSize, 100, 200, DEFAULTS.textSize),
    hand: from.hand === "left" ? "left" : "right",
    dwellMs: number(from.dwellMs, 800, 3000, DEFAULTS.dwellMs),
    keyboardScanner: flag(from.keyboardScanner, DEFAULTS.keyboardScanner),
    prefix: text(from.prefix, LONGEST_FIXED_TEXT),
    suffix: text(from.suffix, LONGEST_FIXED_TEXT),
    camera: text(from.camera, LONGEST_ID),
    lastCamera: text(from.lastCamera, LONGEST_ID),
    formats: Array.isArray(formats) ? EXTRA_FORMATS.filter((format) => formats.includes(format)) : [],
    lockMinutes: number(from.lockMinutes, 0, 60, DEFAULTS.lockMinutes),
    locked: flag(from.locked, DEFAULTS.locked),
    kiosk: flag(from.kiosk, DEFAULTS.kiosk),
  };
}

/** Removes the hardware scanner's prefix and suffix from a code, if they are there and are not the whole text. */
export function withoutFixed(text: string, { prefix, suffix }: Pick<Settings, "prefix" | "suffix">): string {
  let code = text;
  if (prefix !== "" && code.length > prefix.length && code.startsWith(prefix)) code = code.slice(prefix.length);
  if (suffix !== "" && code.length > suffix.length && code.endsWith(suffix)) code = code.slice(0, -suffix.length);
  return code;
}

/** The input for a code of the hardware scanner, without prefix and suffix. `other` is set if the two layouts differ. */
export function readCode(text: string, own: string, settings: Settings): { type: "code"; text: string; method: "qr"; other?: string } {
  const [us, other] = [text, own].map((typed) => withoutFixed(typed, settings)) as [string, string];
  const code = { type: "code", text: us, method: "qr" } as const;
  return us === other ? code : { ...code, other };
}
