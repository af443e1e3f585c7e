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
 * Everything the screens draw from, and everything they can ask for. No rule about tickets lives here. Verdicts, sheets,
 * camera and pairing hold their own state. This class starts the engine, passes its messages on, and keeps what they share.
 */
export class Scanner {
  tab = $state<"starting" | "writer" | "elsewhere" | "lost">("starting");
  view = $state.raw<View | null>(null);
  /** When it came, wall clock: its `retry_in_ms` counts from here. */
  viewAt = $state(0);
  fault = $state.raw<Fault | null>(null);
  /** A short sentence that goes by itself. */
  notice = $state("");
  announcement = $state("");
  /** An answer is on its way to the journal. */
  busy = $state(false);
  /** The last staff PIN was wrong. */
  pin = $state.raw<{ triesLeft: number; pausedUntil: number } | null>(null);
  progress = $state.raw<{ received: number; total: number } | null>(null);
  /** The backlog on its way to the server, if there is one. */
  sync = $state.raw<SyncProgress | null>(null);
  /** Whether the browser promised to keep our storage; null: it has not said. */
  persisted = $state<boolean | null>(null);
  /** Whether the app starts without a network. */
  kept = $state<Kept>("coming");
  /** Set while the browser offers to install the app. */
  install = $state.raw<InstallOffer | null>(null);
  settings = $state<Settings>(loadSettings());
  /** What the gates of the lists so far were called: one that was removed is told by its name. */
  readonly gateNames = new Map<string, string>();
  /** Wall clock, milliseconds, refreshed each second for countdowns. What the engine dates is compared with `serverNow`. */
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

  /** The screen to draw, also on `body[data-phase]` for tests. */
  get phase(): string {
    if (this.tab === "elsewhere" || this.tab === "lost") return "other_tab";
    if (this.fault !== null) return "fault";
    return this.view?.phase ?? "starting";
  }

  /** Tickets are judged here, also while the server does not know the key. */
  get scans(): boolean {
    return this.phase === "ready" || this.phase === "key_unknown";
  }

  /** `now` by the server's clock: the ages of what the engine dates count to it. */
  get serverNow(): ServerTime {
    return this.serverTime(this.now);
  }

  serverTime(wall: number): ServerTime {
    return serverTime(wall, this.#offset.of(this.view));
  }

  get hasPin(): boolean {
    return this.view?.has_pin === true;
  }

  /** Whether the screen asks something that no code may sweep away. */
  get asking(): boolean {
    const sheet = this.sheets.current;
    // What the check before doors asks for is a code.
    return (sheet !== null && sheet !== "check") || this.settings.locked || this.verdicts.asksCount;
  }

  start(steal: boolean): void {
    this.#engine?.end();
    this.camera.end();
    // A sheet belongs to what was asked of the engine before: the new one holds no code for it.
    this.sheets.close();
    this.tab = "starting";
    this.view = this.fault = this.verdicts.shown = null;
    this.busy = false;
    const { port1, port2 } = new MessageChannel();
    this.#engine = new EngineClient(port1, steal, (message) => this.#onEngine(message));
    this.camera.start(port2);
    this.setSettings({}); // The camera's side and the lock hold from the first moment.
  }

  /** Somebody touched or typed: sound may start, the camera runs at full speed. */
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

  /** Asks what a pairing token is for. */
  look(token: string): void {
    this.#engine?.look(token);
  }

  takeNext(): void {
    this.#engine?.next();
  }

  hold(): void {
    this.#engine?.hold(this.asking);
  }

  /** A code of the hardware scanner: as a US keyboard has it, and as this device's own layout has it where that differs. */
  code(text: string, own = text): void {
    this.touched();
    if (this.settings.locked) return;
    const sheet = this.sheets.current;
    if (sheet !== null && sheet !== "override" && sheet !== "pair") this.sheets.close();
    this.input(readCode(text, own, this.settings), performance.timeOrigin + performance.now());
  }

  /** A ticket's code that a person typed. */
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

  /** Says it to those who listen. */
  announce(text: string): void {
    this.announcement = text;
  }

  /** Says it to the eyes alone. */
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
    // Once: whoever types a code at a gate without names keeps the sheet, whatever the engine says meanwhile.
    if (view.phase === "revoked" || (view.names.state === "off" && before?.names.state !== "off")) this.#forgetNames();
    if (view.phase !== "first_sync") this.progress = null;
    if (view.phase === "ready" && before?.phase !== "ready") {
      navigator.serviceWorker?.controller?.postMessage({ kind: "ready" });
    }
    if (this.scans) this.persistence.ready();
    const paired = before?.phase === "pairing" && view.phase !== "pairing" && this.pairing.error === "";
    if (paired && this.sheets.current === "pair") this.sheets.close();
  }

  /** A question about a ticket of another event can be answered no more. */
  #onOtherEvent(): void {
    this.verdicts.clear();
    this.busy = false;
    // Nor can a sheet about it, which is not even drawn without its verdict. Pairing is about no event.
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

  /** This gate's devices carry no names any more. */
  #forgetNames(): void {
    if (this.sheets.current === "search") this.sheets.close();
    this.sheets.found = null;
    this.verdicts.forgetNames();
  }
}

export const scanner = new Scanner();
