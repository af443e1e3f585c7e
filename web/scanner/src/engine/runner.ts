import type { Effect, EngineDoor, FoundGuest, Input, SendEffect, VerdictView, View } from "../../../shared/core/engine.ts";
import { AppendError } from "../storage/journal.ts";
import type { Row } from "../../../shared/core/engine.ts";
import type { Clock } from "./clock.ts";
import type { Answer } from "./http.ts";

/** Receives what the page and the decoder must know. */
export interface Listener {
  view(view: View): void;
  show(verdict: VerdictView, cause: CodeRead | undefined): void;
  undone(scanId: string, count: number): void;
  found(text: string, guests: FoundGuest[], more: boolean): void;
  pinRefused(triesLeft: number, pausedForMs: number): void;
  pinOk(): void;
  refused(code: string, message: string): void;
  exported(name: string, text: string): void;
  progress(path: string, received: number, total: number): void;
  /**
   * A code that waited is not judged: its verdict would replace another one too early. Or (`late`) it waited for storage so
   * long that its guest may have left.
   */
  declined(cause: CodeRead, late: boolean): void;
  /** Storage takes long to write. No verdict comes until it is done. */
  slow(): void;
  /** The engine could not read an input that the app made. This is a bug of the app, not an error of a person. */
  broken(message: string): void;
}

/** The code behind a verdict, and when it was read (milliseconds since 1970, with fractions). */
export interface CodeRead {
  text: string;
  readAt: number;
  /** True: a hardware scanner read the code. Otherwise the camera did, which offers a code again as long as it sees it. */
  byHand?: boolean;
}

export interface Parts {
  engine: EngineDoor;
  clock: Clock;
  journal: { append(rows: Row[]): Promise<void>; purge(row: Row): Promise<void> };
  cache: {
    save(key: string, body: Uint8Array): Promise<void>;
    /** Stores a body with guests' names, encrypted. */
    seal(key: string, body: Uint8Array): Promise<void>;
    forget(key: string): Promise<void>;
    wipe(): Promise<void>;
  };
  /** Whether the verdict of a code that waited may replace the screen's content. */
  gate: { open(monoMs: number): boolean };
  send(effect: SendEffect, signal: AbortSignal, progress: (received: number, total: number) => void): Promise<Answer>;
  timers: { set(run: () => void, ms: number): number; clear(timer: number): void };
  listener: Listener;
}

/** A code that waited this long gets no verdict, because another guest may stand before the device by now, milliseconds. */
const LATE_MS = 1500;
/** Storage counts as slow if a write takes longer than this, milliseconds. Good storage takes about ten. */
const SLOW_MS = 1000;
/** The longest delay of a browser's timer, milliseconds. A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Carries out the engine's effects in their order, and reports their results to the engine. It contains no rule: it neither
 * reads journal rows nor knows what a ticket is.
 */
export class Runner {
  readonly #requests = new Map<number, AbortController>();
  readonly #effects: { effect: Effect; body: Uint8Array | undefined; cause: CodeRead | undefined }[] = [];
  #running = false;
  readonly #causes = new Map<number, CodeRead>();
  /** Codes that wait for the append under way. So each verdict can be matched with the code that led to it. */
  readonly #waiting: { input: Input; cause: CodeRead; since: number }[] = [];
  /** The code about which the server is being asked. Later codes wait, as they do for an append. */
  #asked: { cause: CodeRead | undefined } | null = null;
  #appending = 0;
  #slow: number | null = null;
  #wake: number | null = null;
  #stopped = false;

  constructor(private readonly parts: Parts) {}

  /** Gives one input to the engine. `cause` is the code that led to the input. */
  feed(input: Input, body?: Uint8Array, cause?: CodeRead): void {
    if (this.#stopped) return;
    if (cause !== undefined && input.type === "code" && (this.#appending > 0 || this.#running || this.#asked !== null)) {
      this.#waiting.push({ input, cause, since: this.parts.clock.mono() });
      // The timer reports a late code even if storage never finishes. One is added because the clock counts whole milliseconds.
      this.parts.timers.set(() => this.#declineLate(), LATE_MS + 1);
      return;
    }
    const { engine, clock, listener } = this.parts;
    let effects: Effect[];
    try {
      effects = JSON.parse(engine.handle(JSON.stringify(input), body, JSON.stringify(clock.now()))) as Effect[];
    } catch (error) {
      listener.broken(`${input.type}: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    // After a code's rows are durable, a further append belongs to the code only if it is the code's final. It is not the
    // final if these effects also show the code's verdict, refuse the code, or ask the server about it.
    const over = effects.some((one) => one.type === "show" || one.type === "refused" || (one.type === "send" && one.urgent === true));
    for (const effect of effects) {
      const own = input.type === "appended" && effect.type === "append" && over ? undefined : cause;
      this.#effects.push({ effect, body, cause: own });
    }
    void this.#run();
  }

  /** Carries out the waiting effects. A save is finished before the next effect begins. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift()) {
      if (this.#stopped) break;
      const { effect, body, cause } = next;
      if (effect.type === "save") await this.#save(effect, body);
      else this.#carryOut(effect, cause);
    }
    this.#running = false;
    this.#nextCode();
  }

  /** Saves a body. A failure stops nothing, but the engine is told, because the body will be missing at the next start. */
  async #save(effect: Extract<Effect, { type: "save" }>, body: Uint8Array | undefined): Promise<void> {
    const { key, text, sealed } = effect;
    const bytes = text === null ? body : new TextEncoder().encode(text);
    if (bytes === undefined) return;
    const { cache } = this.parts;
    await (sealed === true ? cache.seal(key, bytes) : cache.save(key, bytes)).catch(() => this.feed({ type: "save_failed", key }));
  }

  /** Stops this runner, because another tab writes now. It sends nothing and takes no input any more. */
  stop(): void {
    this.#stopped = true;
    for (const controller of this.#requests.values()) controller.abort();
    this.#requests.clear();
    if (this.#wake !== null) this.parts.timers.clear(this.#wake);
    this.#wake = null;
    this.#watchSlow();
  }

  #carryOut(effect: Exclude<Effect, { type: "save" }>, cause: CodeRead | undefined): void {
    const { listener, cache, clock, journal } = this.parts;
    switch (effect.type) {
      case "append":
        if (cause !== undefined) this.#causes.set(effect.append, cause);
        void this.#append(effect.append, effect.rows);
        return;
      case "send":
        if (effect.urgent === true) this.#asked = { cause };
        void this.#send(effect);
        return;
      case "cancel":
        this.#requests.get(effect.request)?.abort();
        this.#requests.delete(effect.request);
        return;
      case "wake":
        this.#setWake(effect.at_mono_ms);
        return;
      case "show":
        listener.show(effect.verdict, cause ?? this.#asked?.cause);
        this.#asked = null;
        return;
      case "undone":
        listener.undone(effect.scan_id, effect.count);
        return;
      case "view":
        listener.view(effect.view);
        return;
      case "found":
        listener.found(effect.text, effect.guests, effect.more);
        return;
      case "pin_refused": {
        const until = effect.paused_until_mono_ms;
        listener.pinRefused(effect.tries_left, until === null ? 0 : Math.max(0, until - clock.mono()));
        return;
      }
      case "pin_ok":
        listener.pinOk();
        return;
      case "refused":
        this.#asked = null;
        listener.refused(effect.code, effect.message);
        return;
      case "export":
        listener.exported(effect.name, effect.text);
        return;
      case "purge":
        // If the purge fails, every row is still there, and a later start tries again.
        journal.purge(effect.row).catch(() => {});
        return;
      case "forget":
        cache.forget(effect.key).catch(() => {});
        return;
      case "wipe_caches":
        cache.wipe().catch(() => {});
        return;
    }
  }

  async #append(append: number, rows: Row[]): Promise<void> {
    let failure: string | null = null;
    this.#appending += 1;
    this.#watchSlow();
    try {
      await this.parts.journal.append(rows);
    } catch (error) {
      failure = error instanceof AppendError ? error.reason : "closed";
    }
    this.#appending -= 1;
    this.#watchSlow();
    const cause = this.#causes.get(append);
    this.#causes.delete(append);
    if (failure === null) this.feed({ type: "appended", append }, undefined, cause);
    else this.feed({ type: "append_failed", append, reason: failure }, undefined, cause);
    this.#nextCode();
  }

  /** Starts a timer when a write begins, and stops it when none is under way. The timer reports slow storage once. */
  #watchSlow(): void {
    const { timers, listener } = this.parts;
    const writes = this.#appending > 0 && !this.#stopped;
    if (writes === (this.#slow !== null)) return;
    if (this.#slow !== null) timers.clear(this.#slow);
    this.#slow = writes ? timers.set(() => listener.slow(), SLOW_MS) : null;
  }

  /** Declines the codes that waited too long. They are at the front of the queue. */
  #declineLate(): void {
    const { clock, listener } = this.parts;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#stopped || clock.mono() - next.since < LATE_MS) return;
      this.#waiting.shift();
      listener.declined(next.cause, true);
    }
  }

  #nextCode(): void {
    this.#declineLate();
    while (this.#appending === 0 && !this.#running && this.#asked === null) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      // A refusal or a question may have come onto the screen since the code was read.
      const { gate, clock, listener } = this.parts;
      if (gate.open(clock.mono())) this.feed(next.input, undefined, next.cause);
      else listener.declined(next.cause, false);
    }
  }

  async #send(effect: SendEffect): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(effect.request, controller);
    const { clock, timers, send, listener } = this.parts;
    const timer = timers.set(() => controller.abort(), effect.timeout_ms);
    const sent_mono_ms = clock.mono();
    let answer: Answer | null = null;
    try {
      answer = await send(effect, controller.signal, (received, total) =>
        listener.progress(effect.path, received, total),
      );
    } catch {
      // The network failed, the time ran out, or the engine gave up waiting.
    }
    timers.clear(timer);
    // After a cancel the engine has forgotten the request and would ignore the answer.
    if (this.#requests.get(effect.request) !== controller) return;
    this.#requests.delete(effect.request);
    if (answer === null) this.feed({ type: "failed", request: effect.request });
    else {
      const { status, headers, body } = answer;
      this.feed({ type: "response", request: effect.request, status, headers, sent_mono_ms }, body);
    }
  }

  #setWake(atMonoMs: number): void {
    const { timers, clock } = this.parts;
    if (this.#wake !== null) timers.clear(this.#wake);
    const delay = Math.min(Math.max(0, atMonoMs - clock.mono()), LONGEST_TIMER_MS);
    this.#wake = timers.set(() => {
      this.#wake = null;
      this.feed({ type: "tick" });
    }, delay);
  }
}
