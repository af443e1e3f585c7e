import { type ExtraFormat, EXTRA_FORMATS } from "../camera/formats.ts";

/** How this phone behaves: kept on it alone, and worth nothing if lost. */
export interface Settings {
  sound: boolean;
  /** 0–1. */
  volume: number;
  vibration: boolean;
  theme: Theme;
  /** Percent of the usual size (100–200). */
  textSize: number;
  /** Which thumb does the work: what is pressed most lies on its side. */
  hand: "right" | "left";
  /** How long "Admit" fills the screen, milliseconds (800–3000). */
  dwellMs: number;
  /** The hardware scanner of this phone acts as a keyboard app: a hidden field keeps the focus. */
  keyboardScanner: boolean;
  /** Fixed text that the hardware scanner adds before and after each code. */
  prefix: string;
  suffix: string;
  /** The camera that a person chose, by the browser's id of it; empty: the best one for tickets. */
  camera: string;
  /** The camera that was taken last by itself. */
  lastCamera: string;
  /** Kinds of codes that are read beside QR. */
  formats: ExtraFormat[];
  /** After so many minutes without a touch or a scan the screen locks; 0: never by itself. */
  lockMinutes: number;
  /** The screen asks for the staff PIN before anything else. */
  locked: boolean;
  /** Guests hold their own codes to this device. */
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

/** What can be chosen for `lockMinutes`. */
export const LOCK_MINUTES: readonly number[] = [0, 2, 5, 15, 30];

const KEY = "admit-settings";
/** No reader adds more than this. */
export const LONGEST_FIXED_TEXT = 40;
const LONGEST_ID = 400;

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

/** A code without what the hardware scanner adds: only where it stands, and never the whole. */
export function withoutFixed(text: string, { prefix, suffix }: Pick<Settings, "prefix" | "suffix">): string {
  let code = text;
  if (prefix !== "" && code.length > prefix.length && code.startsWith(prefix)) code = code.slice(prefix.length);
  if (suffix !== "" && code.length > suffix.length && code.endsWith(suffix)) code = code.slice(0, -suffix.length);
  return code;
}

/** A code that a reader typed, in both layouts where they differ, without what this device's reader adds. */
export function readCode(text: string, own: string, settings: Settings): { type: "code"; text: string; method: "qr"; other?: string } {
  const [us, other] = [text, own].map((typed) => withoutFixed(typed, settings)) as [string, string];
  const code = { type: "code", text: us, method: "qr" } as const;
  return us === other ? code : { ...code, other };
}
