import type { FoundGuest, HistoryRow, VerdictView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { Camera, type CameraState, type Zoom } from "../camera/camera.ts";
import type { CameraKind } from "../camera/choice.ts";
import { allFormats, type ExtraFormat, formatsOf } from "../camera/formats.ts";
import { EngineClient } from "../engine/client.ts";
import type { ReaderFault } from "../camera/messages.ts";
import type { Aim, Fault, FromEngine, PageInput } from "../engine/messages.ts";
import type { PairingPlace } from "../engine/place.ts";
import { ClockOffset, serverTime, type ServerTime } from "./clock.ts";
import { download } from "./download.ts";
import type { Kept } from "./kept.ts";
import { Persistence } from "./persistence.ts";
import { syncProgress, type SyncProgress } from "./pill.ts";
import { Guard, KIOSK_MS, kioskAnswer } from "./guard.ts";
import { measurePainted } from "./painted.ts";
import { nameless, type People, personOf, isSent, undoTargetOf, withoutNames, withPerson } from "./people.ts";
import type { InstallOffer } from "./platform.ts";
import { loadSettings, saveSettings, type Settings, readCode } from "./settings.ts";
import { FRESH_MS, NOTICE_MS, OF_A_SCAN, passes, UNDO_MS, nextZoom, CROWD_MS, type Sheet, type Shown } from "./showing.ts";
import { Signals } from "./signals.ts";
import { asksCount, faceOf, heldWords, ofSameTicket, spoken } from "./words.ts";
import { goBy } from "./zone.ts";

export { FRESH_MS, UNDO_MS, type Sheet, type Shown };

/** Everything the screens draw from, and everything they can ask for. No rule about tickets lives here. */
export class Scanner {
  tab = $state<"starting" | "writer" | "elsewhere" | "lost">("starting");
  view = $state.raw<View | null>(null);
  /** When it came, wall clock: its `retry_in_ms` counts from here. */
  viewAt = $state(0);
  /** Fills the screen. */
  verdict = $state.raw<Shown | null>(null);
  /** The last verdict, as a strip on the home screen. */
  strip = $state.raw<Shown | null>(null);
  /** What was undone just now, in place of the strip: persons taken back. */
  undone = $state.raw<{ count: number; at: number } | null>(null);
  /** What Undo means right now, and until when (wall clock). */
  undoable = $state.raw<{ scanId: string; until: number } | null>(null);
  sheet = $state<Sheet>(null);
  /** The name that a search did not find, for the guest to be added. */
  guestName = $state("");
  /** The history row the undo sheet is about. */
  undoRow = $state.raw<HistoryRow | null>(null);
  fault = $state.raw<Fault | null>(null);
  /** A short sentence that goes by itself. */
  notice = $state("");
  crowd = $state(false);
  progress = $state.raw<{ received: number; total: number } | null>(null);
  pairingCode = $state("");
  pairingError = $state("");
  /** What a pairing code leads to; `place` is null until the server said so. */
  place = $state.raw<{ token: string; place: PairingPlace | null } | null>(null);
  /** The page was opened by a link that holds no pairing code. */
  badLink = $state(false);
  pin = $state.raw<{ triesLeft: number; pausedUntil: number } | null>(null);
  sheetError = $state("");
  /** What the last search found. */
  found = $state.raw<{ text: string; guests: FoundGuest[]; more: boolean } | null>(null);
  /** An answer is on its way to the journal. */
  busy = $state(false);
  /** The verdict on the screen has just taken another's place: nothing answers it yet. */
  fresh = $state(false);
  /** The backlog on its way to the server, if there is one. */
  sync = $state.raw<SyncProgress | null>(null);
  camera = $state<CameraState>("off");
  readerFault = $state.raw<ReaderFault | null>(null);
  torch = $state.raw<{ available: boolean; on: boolean }>({ available: false, on: false });
  zoom = $state.raw<Zoom | null>(null);
  /** The cameras of this device, and the one that runs; empty until a camera is allowed. */
  cameras = $state.raw<{ all: CameraKind[]; current: string }>({ all: [], current: "" });
  /** The camera has read a code since the app was opened. */
  hasRead = $state(false);
  /** Who the last scans were about. */
  people = $state.raw<People>(new Map());
  /** Whether the browser promised to keep our storage; null: it has not said. */
  persisted = $state<boolean | null>(null);
  /** Whether the app starts without a network. */
  kept = $state<Kept>("coming");
  /** Set while the browser offers to install the app. */
  install = $state.raw<InstallOffer | null>(null);
  announcement = $state("");
  settings = $state<Settings>(loadSettings());
  /** Wall clock, milliseconds, refreshed each second for countdowns. What the engine dates is compared with `serverNow`. */
  now = $state(Date.now());

  /** The lock and the kiosk. */
  readonly guard = new Guard(this);
  readonly signals = new Signals();
  readonly persistence = new Persistence(() => navigator, (kept) => (this.persisted = kept));
  readonly #offset = new ClockOffset();
  #engine: EngineClient | null = null;
  #camera: Camera | null = null;
  #shown = 0;
  #dwell: ReturnType<typeof setTimeout> | undefined;
  #freshTimer: ReturnType<typeof setTimeout> | undefined;
  /** Until when it is fresh, and when a verdict last left by itself; both of the monotonic clock. */
  #freshUntil = 0;
  #leftAt = -Infinity;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;
  #crowdTimer: ReturnType<typeof setTimeout> | undefined;

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

  /** How long Undo still stands ready, whole seconds. */
  get undoSeconds(): number {
    const left = this.undoable === null ? 0 : this.undoable.until - this.now;
    return Math.min(UNDO_MS / 1000, Math.max(0, Math.ceil(left / 1000)));
  }

  get hasPin(): boolean {
    return this.view?.has_pin === true;
  }

  /** Whether tickets can be held before a camera, now or in a moment. */
  get hasCamera(): boolean {
    return !["none", "denied"].includes(this.camera);
  }

  /** Whether the screen asks something that no code may sweep away. */
  get asking(): boolean {
    // What the check before doors asks for is a code.
    return (this.sheet !== null && this.sheet !== "check") || this.settings.locked || (this.verdict !== null && asksCount(this.verdict.verdict));
  }

  start(steal: boolean): void {
    this.#engine?.end();
    this.#camera?.end();
    // A sheet belongs to what was asked of the engine before: the new one holds no code for it.
    this.closeSheet();
    this.tab = "starting";
    this.view = this.fault = this.verdict = this.readerFault = null;
    this.busy = false;
    const { port1, port2 } = new MessageChannel();
    this.#engine = new EngineClient(port1, steal, (message) => this.#onEngine(message));
    this.#camera = new Camera(port2, {
      state: (state) => (this.camera = state),
      crowd: () => this.#onCrowd(),
      torch: (available) => (this.torch = { available, on: false }),
      zoom: (zoom) => (this.zoom = zoom),
      cameras: (all, current) => {
        this.cameras = { all, current };
        if (this.settings.camera === "" && current !== "" && current !== this.settings.lastCamera) this.setSettings({ lastCamera: current });
      },
      restarted: () => this.say(words.camera.restarted),
      fault: (fault) => (this.readerFault = fault),
    }, { chosen: this.settings.camera, last: this.settings.lastCamera });
    this.#readFormats();
    this.setSettings({}); // The camera's side and the lock hold from the first moment.
  }

  openCamera(video: HTMLVideoElement): void {
    if (this.tab === "writer") void this.#camera?.open(video);
  }

  async toggleTorch(): Promise<void> {
    this.torch = { ...this.torch, on: (await this.#camera?.toggleTorch()) ?? false };
  }

  /** Takes the camera that a person chose; empty: the best one for tickets. */
  useCamera(id: string): void {
    this.setSettings({ camera: id });
    void this.#camera?.use(id);
  }

  /** The next step of enlargement, and from the last one back to none. */
  async nextZoom(): Promise<void> {
    if (this.zoom !== null) this.zoom = (await this.#camera?.setZoom(nextZoom(this.zoom))) ?? this.zoom;
  }

  readFormats(formats: Settings["formats"]): void {
    this.setSettings({ formats });
    this.#readFormats();
  }

  /** The kinds of codes that the event wants read beside QR. */
  get eventFormats(): ExtraFormat[] {
    return formatsOf(this.view?.barcode_kinds);
  }

  #readFormats(): void {
    this.#camera?.setFormats(allFormats(this.eventFormats, this.settings.formats));
  }

  /** Somebody touched or typed: sound may start, the camera runs at full speed. */
  touched(): void {
    this.guard.used();
    this.signals.unlock();
    this.#camera?.wake();
  }

  input(input: PageInput, readAt?: number): void {
    this.#engine?.input(input, readAt);
  }

  aim(aim: Aim): void {
    this.#engine?.aim(aim);
  }

  /** A code of the hardware scanner: as a US keyboard has it, and as this device's own layout has it where that differs. */
  code(text: string, own = text): void {
    this.touched();
    if (this.settings.locked) return;
    if (this.sheet !== null && this.sheet !== "override" && this.sheet !== "pair") this.closeSheet();
    this.input(readCode(text, own, this.settings), performance.timeOrigin + performance.now());
  }

  /** A ticket's code that a person typed. */
  typedCode(text: string): void {
    const code = text.trim();
    if (code === "") return;
    this.closeSheet();
    this.input({ type: "code", text: code, method: "manual" }, performance.timeOrigin + performance.now());
  }

  /** Staff have seen the verdict: back to the camera. */
  next(): void {
    if (!this.#tooSoon()) this.#leave();
  }

  #leave(): void {
    const shown = this.verdict;
    if (shown === null || asksCount(shown.verdict)) return;
    clearTimeout(this.#dwell);
    this.verdict = null;
    // The strip has the last one: what came for the strip alone while this filled the screen stays there.
    if (this.strip === null || this.strip.key < shown.key) this.strip = shown;
    this.#engine?.next();
  }

  /** Answers "how many now?". */
  count(persons: number): void {
    const id = this.verdict?.verdict.scan_id;
    if (id === null || id === undefined || this.busy || this.#tooSoon()) return;
    this.busy = true;
    this.input({ type: "count", scan_id: id, count: persons });
  }

  /** Lets the others of the booking in, each by a scan of its own. */
  admitBooking(): void {
    const { scan_id, booking } = this.verdict?.verdict ?? {};
    if (scan_id === null || scan_id === undefined || booking === undefined || this.busy || this.#tooSoon()) return;
    this.busy = true;
    this.input({ type: "booking", scan_id, ticket_ids: booking.others.map((other) => other.ticket_id) });
  }

  /** Staff want to add a guest who has no ticket. */
  openAddGuest(name = ""): void {
    this.guestName = name;
    this.pin = null;
    this.closeSheet();
    this.open("add_guest");
  }

  addGuest(name: string, zone: string, party: number, pin: string): void {
    this.busy = true;
    this.sheetError = "";
    this.input({ type: "walk_in", name, zone, party, pin });
  }

  /** Looks for guests by a part of the name; `found` follows. */
  search(text: string): void {
    this.input({ type: "search", text });
  }

  /** Checks a guest in by hand. */
  pick(ticketId: string): void {
    if (this.busy) return;
    this.busy = true;
    this.sheetError = "";
    this.input({ type: "guest", ticket_id: ticketId });
  }

  get undoTarget(): HistoryRow | null {
    return this.undone === null ? undoTargetOf(this.strip?.verdict, this.view?.history ?? []) : null;
  }

  /** Takes the last scan back: within ten seconds at once, later with a question. */
  undoLast(): void {
    const ready = this.undoable;
    if (ready !== null && ready.until > Date.now()) this.undo(ready.scanId, 0);
    else if (this.undoTarget !== null) this.askUndo(this.undoTarget);
  }

  askUndo(row: HistoryRow): void {
    this.undoRow = row;
    this.open("undo");
  }

  /** Who a scan was about; null: not known any more. */
  personOf(row: Pick<HistoryRow, "scan_id" | "ticket_id">) {
    return personOf(this.people, row);
  }

  /** Whether the server has this scan by now. */
  isConfirmed(verdict: VerdictView): boolean {
    return isSent(verdict, this.view?.history ?? []);
  }

  undo(scanId: string, keep: number): void {
    // The sheet names what it undoes: that is meant, however young the verdict behind it is.
    if (this.sheet !== "undo" && this.#tooSoon()) return;
    this.undoable = null;
    this.input({ type: "undo", scan_id: scanId, keep });
  }

  open(sheet: Exclude<Sheet, null>): void {
    if (sheet === "override" && this.#tooSoon()) return;
    this.sheetError = "";
    this.sheet = sheet;
    this.#hold();
  }

  closeSheet(): void {
    this.sheet = null;
    this.undoRow = null;
    this.found = null;
    this.sheetError = "";
    this.#hold();
  }

  /** Asks what a pairing code is for; `place` follows. */
  look(token: string): void {
    this.pairingError = "";
    this.place = { token, place: null };
    this.#engine?.look(token);
  }

  pair(code: string, name: string): void {
    this.#beginPairing();
    this.input({ type: "pair", code, name });
  }

  /** This phone shows a code of its own, for an organiser to approve. */
  askPairing(name: string): void {
    this.#beginPairing();
    this.input({ type: "ask_pairing", name });
  }

  cancelPairing(): void {
    this.pairingError = "";
    this.input({ type: "cancel_pairing" });
  }

  #beginPairing(): void {
    this.pairingError = "";
    // However it was begun, also by a link: what comes of it is said there.
    this.sheet = "pair";
    this.persistence.tapped();
  }

  setSettings(change: Partial<Settings>): void {
    this.settings = { ...this.settings, ...change };
    saveSettings(this.settings);
    this.#camera?.face(this.settings.kiosk);
    this.#hold();
  }

  say(text: string): void {
    this.announcement = text;
    this.#note(text);
  }

  /** Says it to the eyes alone. */
  #note(text: string): void {
    this.notice = text;
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = setTimeout(() => (this.notice = ""), NOTICE_MS);
  }

  #onEngine(message: FromEngine): void {
    switch (message.kind) {
      case "tab":
        this.tab = message.state;
        if (message.state === "lost") this.#camera?.close();
        return;
      case "view":
        this.#onView(message.view);
        return;
      case "show":
        this.hasRead ||= message.camera === true;
        if (message.again) this.#onShowAgain(message.verdict);
        else this.#onShow(message.verdict, message.readAt);
        return;
      case "undone":
        this.#onUndone(message.scanId, message.count);
        return;
      case "found":
        if (this.sheet === "search") this.found = message;
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
        this.pairingCode = message.text;
        return;
      case "place":
        if (this.place?.token === message.token) this.place = { token: message.token, place: message.place };
        return;
      case "held":
        if (this.notice === "" && !this.settings.locked) this.say(heldWords(this.sheet !== null, this.asking));
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
    if (before !== null && before.event_id !== null && before.event_id !== view.event_id) {
      // A question about a ticket of another event can be answered no more.
      this.verdict = this.strip = this.undoable = null;
      this.busy = false;
      // Nor can a sheet about it, which is not even drawn without its verdict. Pairing is about no event.
      if (this.sheet === "pair") this.#hold();
      else this.closeSheet();
    }
    this.#offset.take(view);
    this.view = view;
    this.#readFormats();
    this.sync = syncProgress(this.sync, view);
    this.viewAt = Date.now();
    if (view.phase === "revoked" || view.names.state === "off") this.#forgetNames();
    if (view.phase !== "first_sync") this.progress = null;
    if (view.phase === "ready" && before?.phase !== "ready") {
      navigator.serviceWorker?.controller?.postMessage({ kind: "ready" });
    }
    if (this.scans) this.persistence.ready();
    const paired = before?.phase === "pairing" && view.phase !== "pairing" && this.pairingError === "";
    if (paired && this.sheet === "pair") this.closeSheet();
  }

  #onShow(verdict: VerdictView, readAt: number | undefined): void {
    this.busy = false;
    this.people = withPerson(this.people, verdict);
    this.undone = null;
    this.#shown += 1;
    const shown: Shown = { verdict, key: this.#shown, at: Date.now(), again: false };
    this.announcement = spoken(verdict);
    this.signals.play(faceOf(verdict), verdict.may_admit, this.settings);
    this.guard.used();
    if (verdict.screen === "same_ticket" && !this.settings.kiosk && (verdict.booking?.others ?? []).length === 0) {
      if (this.sheet === "search") this.closeSheet();
      this.#uncover(verdict);
      this.strip = shown;
    } else {
      if (this.sheet !== null && OF_A_SCAN.has(this.sheet)) this.sheet = null;
      this.found = null;
      this.pin = null;
      this.#fill(shown);
    }
    if (verdict.can_undo && verdict.scan_id !== null) {
      this.undoable = { scanId: verdict.scan_id, until: shown.at + UNDO_MS };
    } else if (verdict.screen !== "same_ticket") {
      this.undoable = null;
    }
    this.#hold();
    void measurePainted(readAt);
  }

  #onUndone(scanId: string, count: number): void {
    // Of a booking one is undone by itself: what became of the others stays on the screen.
    if (this.verdict?.verdict.scan_id === scanId && this.verdict.verdict.booking?.became === undefined) this.#leave();
    if (this.sheet === "undo") this.closeSheet();
    this.undoable = null;
    this.undone = { count, at: Date.now() };
    this.announcement = words.undo.done(count);
    this.signals.play("undone", count, this.settings);
  }

  /** The last verdict before this start: only a question fills the screen, or an old "go" would meet a new guest. */
  #onShowAgain(verdict: VerdictView): void {
    this.people = withPerson(this.people, verdict);
    this.#shown += 1;
    const shown: Shown = { verdict, key: this.#shown, at: Date.now(), again: true };
    if (asksCount(verdict)) this.verdict = shown;
    else this.strip = shown;
    this.#hold();
  }

  #fill(shown: Shown): void {
    clearTimeout(this.#dwell);
    this.#freshen(this.verdict !== null || performance.now() - this.#leftAt < FRESH_MS);
    this.verdict = shown;
    const { kiosk, dwellMs } = this.settings;
    const answer = kiosk ? kioskAnswer(shown.verdict) : null;
    if (answer !== null) this.input(answer);
    if (kiosk || passes(shown.verdict)) {
      this.#dwell = setTimeout(() => {
        if (this.verdict?.key !== shown.key) return;
        this.#leftAt = performance.now();
        this.#leave();
      }, kiosk ? KIOSK_MS : dwellMs);
    }
  }

  #freshen(on: boolean): void {
    clearTimeout(this.#freshTimer);
    this.fresh = on;
    this.#freshUntil = performance.now() + FRESH_MS;
    if (on) this.#freshTimer = setTimeout(() => (this.fresh = false), FRESH_MS);
  }

  /** Whether an act was meant for the verdict before; then it is not done, and whoever did it is told. */
  #tooSoon(): boolean {
    const shown = this.verdict;
    if (shown === null || !this.fresh || performance.now() >= this.#freshUntil) return false;
    this.#note(words.verdict.changed);
    // Those who listen hear the new one again: what is announced takes the place of what was being said.
    this.announcement = `${spoken(shown.verdict)}. ${words.verdict.changed}`;
    return true;
  }

  /**
   * A repeated ticket has the strip alone: another guest's verdict does not stand before it, or the one who is here now
   * would be taken for that guest. What asks something stays: it holds the gate, so a repeat can only just have passed.
   */
  #uncover(repeated: VerdictView): void {
    if (this.verdict === null || this.asking || ofSameTicket(this.verdict.verdict, repeated)) return;
    clearTimeout(this.#dwell);
    this.verdict = null;
    this.#leftAt = performance.now();
  }

  #onRefused(code: string, message: string): void {
    this.busy = false;
    if (code === "unknown_scan" && this.verdict !== null && asksCount(this.verdict.verdict)) {
      this.verdict = null;
      this.#hold();
    }
    if (code === "pairing_failed" || code === "bad_pairing_code") this.pairingError = message;
    else if (this.sheet !== null && OF_A_SCAN.has(this.sheet)) this.sheetError = message;
    else this.say(message);
  }

  /** This gate's devices carry no names any more: none stays on the screen either. */
  #forgetNames(): void {
    if (this.sheet === "search") this.closeSheet();
    this.found = null;
    this.people = nameless(this.people);
    const bare = (shown: Shown): Shown => ({ ...shown, verdict: withoutNames(shown.verdict) });
    if (this.verdict !== null) this.verdict = bare(this.verdict);
    if (this.strip !== null) this.strip = bare(this.strip);
  }

  #onCrowd(): void {
    if (!this.crowd) this.announcement = words.app.oneTicket;
    this.crowd = true;
    clearTimeout(this.#crowdTimer);
    this.#crowdTimer = setTimeout(() => (this.crowd = false), CROWD_MS);
  }

  #hold(): void {
    this.#engine?.hold(this.asking);
  }
}

export const scanner = new Scanner();
