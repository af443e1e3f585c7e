import type { Settings } from "./settings.ts";
import type { Face } from "./words.ts";

/** One tone: its first and last frequency in hertz, its length, and the pause before it. */
interface Tone {
  from: number;
  to: number;
  ms: number;
  pauseMs?: number;
  soft?: boolean;
}

interface Signal {
  tones: Tone[];
  /** The pattern for `navigator.vibrate`, in milliseconds. */
  haptic: number[];
}

const RISING: Tone[] = [
  { from: 660, to: 660, ms: 70 },
  { from: 990, to: 990, ms: 90 },
];
const FALLING_SOFT: Tone[] = [
  { from: 990, to: 990, ms: 70, soft: true },
  { from: 660, to: 660, ms: 90, soft: true },
];
const TICK: Tone = { from: 1320, to: 1320, ms: 25, pauseMs: 55 };
const TWICE: Tone[] = [
  { from: 440, to: 440, ms: 100 },
  { from: 440, to: 440, ms: 100, pauseMs: 60 },
];
const ASK: Tone[] = [
  { from: 520, to: 520, ms: 90 },
  { from: 520, to: 520, ms: 90, pauseMs: 40 },
  { from: 780, to: 780, ms: 120, pauseMs: 40 },
];
const REFUSE: Tone[] = [{ from: 220, to: 160, ms: 350 }];
const LOOKED_FOR: Tone[] = Array.from({ length: 6 }, (_, at) => ({ from: at % 2 === 0 ? 880 : 1175, to: at % 2 === 0 ? 880 : 1175, ms: 160, pauseMs: 60 }));
const SHORT: Tone[] = [{ from: 300, to: 300, ms: 90 }];

/** Sound and vibration of each verdict (experience §8). Staff can tell verdicts apart without a look at the screen. `persons` may go in. */
export function signalOf(face: Face | "undone" | "looked_for", persons: number): Signal {
  switch (face) {
    case "looked_for":
      return { tones: LOOKED_FOR, haptic: [300, 100, 300, 100, 300] };
    case "undone":
    case "nobody":
      return { tones: SHORT, haptic: [40] };
    case "admit":
      return { tones: RISING, haptic: [40] };
    case "admit_party":
      return { tones: [...RISING, ...Array<Tone>(Math.min(4, persons)).fill(TICK)], haptic: [40] };
    case "exit":
      return { tones: FALLING_SOFT, haptic: [40] };
    case "already_in":
    case "full":
      return { tones: TWICE, haptic: [40, 60, 40] };
    case "check":
      return { tones: ASK, haptic: [60, 60, 60, 60, 60] };
    case "refuse":
      return { tones: REFUSE, haptic: [200, 80, 200] };
    case "wrong_place":
    case "wrong_time":
    case "ended":
      return { tones: REFUSE, haptic: [200] };
    case "not_in_list":
    case "not_a_ticket":
      return { tones: SHORT, haptic: [] };
    case "same_ticket":
      return { tones: [], haptic: [] };
  }
}

/** Sound counts as dead if it does not resume within this time, or if its clock stands still for it, milliseconds. */
const DEAD_AFTER_MS = 1_000;

/**
 * Plays the signals. Browsers keep a page silent until the first tap. A call interrupts the sound, and on some devices it does not
 * come back. A tap resumes it. If that fails, the next tap makes a new `AudioContext`.
 */
export class Signals {
  #context: AudioContext | null = null;
  /** When `resume()` was called, if the sound has not resumed since. */
  #asked: number | null = null;
  /** The last reading of the context's own clock (`time`), and when that was (`at`). */
  #heard = { at: 0, time: 0 };
  #listens = false;

  /** `make` and `clock` are those of the browser, except in tests. */
  constructor(
    private readonly make: () => AudioContext = () => new AudioContext(),
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Call on a tap or key press. */
  unlock(): void {
    try {
      if (this.#context === null || this.#isDead(this.#context)) this.#begin();
      this.#wake();
    } catch {
      // This device has no sound. Screen and vibration tell the verdict too.
    }
  }

  #begin(): void {
    const old = this.#context;
    if (old !== null && old.state !== "closed") void old.close().catch(() => {});
    // Without this an iPhone's silent switch also silences the signals.
    const session = (navigator as { audioSession?: { type: string } }).audioSession;
    if (session !== undefined) session.type = "playback";
    this.#context = this.make();
    this.#asked = null;
    this.#heard = { at: this.clock(), time: this.#context.currentTime };
    if (this.#listens) return;
    this.#listens = true;
    // After a call, staff may return to the page and scan without a tap.
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#wake();
    });
  }

  #wake(): void {
    const context = this.#context;
    if (context === null || context.state === "running" || context.state === "closed") return;
    this.#asked ??= this.clock();
    void context.resume().catch(() => {});
  }

  #isDead(context: AudioContext): boolean {
    const now = this.clock();
    if (context.state === "closed") return true;
    if (context.state !== "running") return this.#asked !== null && now - this.#asked >= DEAD_AFTER_MS;
    this.#asked = null;
    if (now - this.#heard.at < DEAD_AFTER_MS) return false;
    const stoodStill = context.currentTime === this.#heard.time;
    this.#heard = { at: now, time: context.currentTime };
    return stoodStill;
  }

  play(face: Face | "undone" | "looked_for", persons: number, settings: Settings): void {
    const signal = signalOf(face, persons);
    if (settings.vibration && signal.haptic.length > 0) navigator.vibrate?.(signal.haptic);
    if (settings.sound) this.#tones(signal.tones, settings.volume);
  }

  #tones(tones: Tone[], volume: number): void {
    const context = this.#context;
    if (context === null || context.state !== "running") return;
    let at = context.currentTime + 0.005;
    for (const tone of tones) {
      at += (tone.pauseMs ?? 0) / 1000;
      const end = at + tone.ms / 1000;
      const oscillator = context.createOscillator();
      const gain = context.createGain();
      oscillator.type = tone.soft === true ? "sine" : "triangle";
      oscillator.frequency.setValueAtTime(tone.from, at);
      oscillator.frequency.linearRampToValueAtTime(tone.to, end);
      const level = volume * (tone.soft === true ? 0.35 : 0.7);
      // The level rises and falls gradually, because a tone that starts at full level clicks.
      gain.gain.setValueAtTime(0, at);
      gain.gain.linearRampToValueAtTime(level, at + 0.008);
      gain.gain.setValueAtTime(level, Math.max(at + 0.008, end - 0.012));
      gain.gain.linearRampToValueAtTime(0, end);
      oscillator.connect(gain).connect(context.destination);
      oscillator.start(at);
      oscillator.stop(end);
      at = end;
    }
  }
}
