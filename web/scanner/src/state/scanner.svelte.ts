import type { VerdictView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { EngineClient } from "../engine/client.ts";
import type { Aim, Fault, FromEngine, PageInput } from "../engine/messages.ts";
import { CameraControl } from "./camera.svelte.ts";
import { ClockOffset, serverTime, type ServerTime } from "./clock.ts";
import { download } from "./download.ts";
import { Guard } from "./guard.ts";
import type { Kept } from "./kept.ts";
import { measurePainted } from "./painted.ts";
import { Pairing } from "./pairing.svelte.ts";
import { Persistence } from "./persistence.ts";
import { syncProgress, type SyncProgress } from "./pill.ts";
import type { InstallOffer } from "./platform.ts";
import { loadSettings, readCode, saveSettings, type Settings } from "./settings.ts";
import { Sheets } from "./sheets.svelte.ts";
import { NOTICE_MS } from "./showing.ts";
import { Signals } from "./signals.ts";
import { Verdicts } from "./verdicts.svelte.ts";
import { faceOf, heldWords, spoken } from "./words.ts";
import { goBy } from "./zone.ts";

/**
 * The state that the screens show, and the actions that they offer. It contains no rule about tickets. Verdicts, sheets, camera and
 * pairing have their own state. This class starts the engine, passes its messages on, and keeps what these parts share.
 */
export class Scanner {
  tab = $state<"starting" | "writer" | "elsewhere" | "lost">("starting");
  view = $state.raw<View | null>(null);
  /** When the view came, by the wall clock. Its `retry_in_ms` counts from this time. */
  viewAt = $state(0);
  fault = $state.raw<Fault | null>(null);
  /** A short message that disappears by itself. */
  notice = $state("");
  announcement = $state("");
  /** Whether an act of staff waits for the engine's answer. */
  busy = $state(false);
  /** Set if the last staff PIN was wrong. */
  pin = $state.raw<{ triesLeft: number; pausedUntil: number } | null>(null);
  progress = $state.raw<{ received: number; total: number } | null>(null);
  /** The backlog of unsent scans. Null if there is none. */
  sync = $state.raw<SyncProgress | null>(null);
  /** Whether the browser promised to keep the app's data. Null: it has not said. */
  persisted = $state<boolean | null>(null);
  /** Whether the app starts without a network. */
  kept = $state<Kept>("coming");
  /** Set while the browser offers to install the app. */
  install = $state.raw<InstallOffer | null>(null);
  settings = $state<Settings>(loadSettings());
  /** The names of all gates of the lists so far. So the app can name a gate that was removed. */
  readonly gateNames = new Map<string, string>();
  /** Wall clock, milliseconds, updated each second for countdowns. Compare the engine's times with `serverNow` instead. */
  now = $state(Date.now());

  readonly camera = new CameraControl(this);
  readonly sheets = new Sheets(this);
  readonly verdicts = new Verdicts(this);
  readonly pairing = new Pairing(this);
  /** The lock and the kiosk. */
  readonly guard = new Guard(this);
  readonly signals = new Signals();
  readonly persistence = new Persistence(() => navigator, (kept) => (this.persisted = kept));
  readonly #offset = new ClockOffset();
  #engine: EngineClient | null = null;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    goBy(() => this.view?.clock);
  }

  /** The screen to show. Tests read it from `body[data-phase]`. */
  get phase(): string {
    if (this.tab === "elsewhere" || this.tab === "lost") return "other_tab";
    if (this.fault !== null) return "fault";
    return this.view?.phase ?? "starting";
  }

  /** Whether this tab judges tickets. It also does while the server does not know the device's key. */
  get scans(): boolean {
    return this.phase === "ready" || this.phase === "key_unknown";
  }

  /** `now` by the server's clock, to compare with the engine's times. */
  get serverNow(): ServerTime {
    return this.serverTime(this.now);
  }

  serverTime(wall: number): ServerTime {
    return serverTime(wall, this.#offset.of(this.view));
  }

  get hasPin(): boolean {
    return this.view?.has_pin === true;
  }

  /** Whether the screen asks a question that no code's verdict may replace. */
  get asking(): boolean {
    const sheet = this.sheets.current;
    // The check before doors is no question: it waits for a code.
    return (sheet !== null && sheet !== "check") || this.settings.locked || this.verdicts.asksCount;
  }

  start(steal: boolean): void {
    this.#engine?.end();
    this.camera.end();
    // An open sheet belongs to the old engine, and the new one would hold back no code for it.
    this.sheets.close();
    this.tab = "starting";
    this.view = this.fault = this.verdicts.shown = null;
    this.busy = false;
    const { port1, port2 } = new MessageChannel();
    this.#engine = new EngineClient(port1, steal, (message) => this.#onEngine(message));
    this.camera.start(port2);
    this.setSettings({}); // Applies the camera's side and the lock at once.
  }

  /** Called when somebody touches or types. Sound may start, and the camera runs at full speed. */
  touched(): void {
    this.guard.used();
    this.signals.unlock();
    this.camera.wake();
  }

  input(input: PageInput, readAt?: number): void {
    this.#engine?.input(input, readAt);
  }

  aim(aim: Aim): void {
    this.#engine?.aim(aim);
  }

  /** Asks to which event and gate a pairing token belongs. */
  look(token: string): void {
    this.#engine?.look(token);
  }

  takeNext(): void {
    this.#engine?.next();
  }

  hold(): void {
    this.#engine?.hold(this.asking);
  }

  /** A code of the hardware scanner. `text`: read as a US keyboard. `own`: read in this device's own layout. */
  code(text: string, own = text): void {
    this.touched();
    if (this.settings.locked) return;
    const sheet = this.sheets.current;
    if (sheet !== null && sheet !== "override" && sheet !== "pair") this.sheets.close();
    this.input(readCode(text, own, this.settings), performance.timeOrigin + performance.now());
  }

  /** Takes a ticket's code that a person typed. */
  typedCode(text: string): void {
    const code = text.trim();
    if (code === "") return;
    this.sheets.close();
    this.input({ type: "code", text: code, method: "manual" }, performance.timeOrigin + performance.now());
  }

  setSettings(change: Partial<Settings>): void {
    this.settings = { ...this.settings, ...change };
    saveSettings(this.settings);
    this.camera.face(this.settings.kiosk);
    this.hold();
  }

  say(text: string): void {
    this.announce(text);
    this.note(text);
  }

  /** Tells it to screen readers only. */
  announce(text: string): void {
    this.announcement = text;
  }

  /** Shows it on the screen only. */
  note(text: string): void {
    this.notice = text;
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = setTimeout(() => (this.notice = ""), NOTICE_MS);
  }

  #onEngine(message: FromEngine): void {
    switch (message.kind) {
      case "tab":
        this.tab = message.state;
        if (message.state === "lost") this.camera.close();
        return;
      case "view":
        this.#onView(message.view);
        return;
      case "show":
        this.camera.hasRead ||= message.camera === true;
        if (message.again) this.verdicts.showAgain(message.verdict);
        else this.#onShow(message.verdict, message.readAt, message.code);
        return;
      case "undone":
        this.verdicts.onUndone(message.scanId, message.count);
        this.announce(words.undo.done(message.count));
        this.signals.play("undone", message.count, this.settings);
        return;
      case "found":
        if (this.sheets.current === "search") this.sheets.found = message;
        return;
      case "pin_refused":
        this.busy = false;
        this.pin = { triesLeft: message.triesLeft, pausedUntil: message.pausedForMs > 0 ? Date.now() + message.pausedForMs : 0 };
        return;
      case "pin_ok":
        this.pin = null;
        this.guard.opened();
        return;
      case "refused":
        this.#onRefused(message.code, message.message);
        return;
      case "export":
        download(message.name, message.text);
        return;
      case "pairing_code":
        this.pairing.code = message.text;
        return;
      case "place":
        this.pairing.onPlace(message.token, message.place);
        return;
      case "held":
        if (this.notice === "" && !this.settings.locked) this.say(heldWords(this.sheets.current !== null, this.asking));
        return;
      case "slow":
        this.say(message.late ? words.scan.late : words.scan.slow);
        return;
      case "progress":
        this.progress = message;
        return;
      case "fault":
        this.fault = message;
        return;
    }
  }

  #onView(view: View): void {
    const before = this.view;
    if (before !== null && before.event_id !== null && before.event_id !== view.event_id) this.#onOtherEvent();
    for (const gate of view.gates ?? []) this.gateNames.set(gate.id, gate.name);
    this.#offset.take(view);
    this.view = view;
    this.camera.readFormats();
    this.sync = syncProgress(this.sync, view);
    this.viewAt = Date.now();
    // Done once, when names go away. At a gate without names the search sheet takes typed codes, so later views must not close it.
    if (view.phase === "revoked" || (view.names.state === "off" && before?.names.state !== "off")) this.#forgetNames();
    if (view.phase !== "first_sync") this.progress = null;
    if (view.phase === "ready" && before?.phase !== "ready") {
      navigator.serviceWorker?.controller?.postMessage({ kind: "ready" });
    }
    if (this.scans) this.persistence.ready();
    const paired = before?.phase === "pairing" && view.phase !== "pairing" && this.pairing.error === "";
    if (paired && this.sheets.current === "pair") this.sheets.close();
  }

  /** The device has another event now, so questions about tickets of the former one end. */
  #onOtherEvent(): void {
    this.verdicts.clear();
    this.busy = false;
    // Sheets about such a ticket close too. The sheet for pairing stays, because it belongs to no event.
    if (this.sheets.current === "pair") this.hold();
    else this.sheets.close();
  }

  #onShow(verdict: VerdictView, readAt: number | undefined, code: string | undefined): void {
    this.busy = false;
    this.announce(spoken(verdict));
    this.signals.play(faceOf(verdict), verdict.may_admit, this.settings);
    this.guard.used();
    this.verdicts.show(verdict, code);
    void measurePainted(readAt);
  }

  #onRefused(code: string, message: string): void {
    this.busy = false;
    if (code === "unknown_scan") this.verdicts.dropQuestion();
    if (code === "pairing_failed" || code === "bad_pairing_code") this.pairing.error = message;
    else if (this.sheets.isOfAScan) this.sheets.error = message;
    else this.say(message);
  }

  /** Forgets the names, because devices at this gate may no longer have them. */
  #forgetNames(): void {
    if (this.sheets.current === "search") this.sheets.close();
    this.sheets.found = null;
    this.verdicts.forgetNames();
  }
}

export const scanner = new Scanner();
