import type { HistoryRow, VerdictView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import type { PageInput } from "../engine/messages.ts";
import { KIOSK_MS, kioskAnswer } from "./guard.ts";
import { bookingTargets, forgetPeople, isSent, keepPeople, keptPeople, nameless, type People, type Person, personOf, undoTargetOf, withoutNames, withPerson } from "./people.ts";
import type { Settings } from "./settings.ts";
import type { Sheets } from "./sheets.svelte.ts";
import { FRESH_MS, passes, type Shown, UNDO_MS } from "./showing.ts";
import { asksCount, ofSameTicket, spoken } from "./words.ts";

/** As much of the scanner as this needs. */
export interface VerdictsHost {
  readonly settings: Settings;
  readonly view: View | null;
  readonly sheets: Sheets;
  /** Wall clock, milliseconds. */
  readonly now: number;
  /** The screen asks something that no code may sweep away. */
  readonly asking: boolean;
  busy: boolean;
  input(input: PageInput): void;
  /** Staff have seen the verdict and want the next code. */
  takeNext(): void;
  /** Tells the engine whether codes are held back now. */
  hold(): void;
  announce(text: string): void;
  /** Says it to the eyes alone. */
  note(text: string): void;
}

/** So long after a verdict its type and code are kept for the history, milliseconds. */
const KEEP_MS = 300;

/** The verdict on the screen, the one in the strip, and what staff do about them. */
export class Verdicts {
  /** Fills the screen. */
  shown = $state.raw<Shown | null>(null);
  /** The last verdict, as a strip on the home screen. */
  strip = $state.raw<Shown | null>(null);
  /** What was undone just now, in place of the strip: which scan, and persons taken back. */
  undone = $state.raw<{ scanId: string; count: number; at: number } | null>(null);
  /** What Undo means right now, and until when (wall clock). */
  undoable = $state.raw<{ scanId: string; until: number } | null>(null);
  /** The verdict on the screen has just taken another's place: nothing answers it yet. */
  fresh = $state(false);

  /** Who the last scans were about. */
  #people = $state.raw<People>(keptPeople());
  #keeping: ReturnType<typeof setTimeout> | undefined;
  /** How many were shown: the key of the last. */
  #count = 0;
  #dwell: ReturnType<typeof setTimeout> | undefined;
  #freshTimer: ReturnType<typeof setTimeout> | undefined;
  /** Until when it is fresh, and when a verdict last left by itself; both of the monotonic clock. */
  #freshUntil = 0;
  #leftAt = -Infinity;

  constructor(private readonly host: VerdictsHost) {}

  /** The verdict on the screen asks how many go in. */
  get asksCount(): boolean {
    return this.shown !== null && asksCount(this.shown.verdict);
  }

  /** How long Undo still stands ready, whole seconds. */
  get undoSeconds(): number {
    const left = this.undoable === null ? 0 : this.undoable.until - this.host.now;
    return Math.min(UNDO_MS / 1000, Math.max(0, Math.ceil(left / 1000)));
  }

  get undoTarget(): HistoryRow | null {
    return this.undone === null ? undoTargetOf(this.strip?.verdict, this.host.view?.history ?? []) : null;
  }

  /** Whom of the booking in the strip Undo can still take back, also after the first was. */
  get undoBooking(): HistoryRow[] {
    return bookingTargets(this.strip?.verdict, this.host.view?.history ?? []);
  }

  /** Who a scan was about; null: not known any more. */
  personOf(row: Pick<HistoryRow, "scan_id" | "ticket_id">): Person | null {
    return personOf(this.#people, row);
  }

  /** Whether the server has this scan by now. */
  isConfirmed(verdict: VerdictView): boolean {
    return isSent(verdict, this.host.view?.history ?? []);
  }

  /** Staff have seen the verdict: back to the camera. */
  next(): void {
    if (!this.#tooSoon()) this.#leave();
  }

  /** Answers "how many now?". */
  count(persons: number): void {
    const id = this.shown?.verdict.scan_id;
    if (id === null || id === undefined || this.host.busy || this.#tooSoon()) return;
    this.host.busy = true;
    this.host.input({ type: "count", scan_id: id, count: persons });
  }

  /** Lets the others of the booking in, each by a scan of its own. */
  admitBooking(): void {
    const { scan_id, booking } = this.shown?.verdict ?? {};
    if (scan_id === null || scan_id === undefined || booking === undefined || this.host.busy || this.#tooSoon()) return;
    this.host.busy = true;
    this.host.input({ type: "booking", scan_id, ticket_ids: booking.others.map((other) => other.ticket_id) });
  }

  /** Staff want to let in whom the verdict refuses. */
  openOverride(): void {
    if (!this.#tooSoon()) this.host.sheets.open("override");
  }

  /** Staff look by name for the guest whose code nobody knows. */
  openSearch(): void {
    if (this.#tooSoon()) return;
    this.#leave();
    this.host.sheets.open("search");
  }

  /** Takes the last scan back: within ten seconds at once, later with a question. */
  undoLast(): void {
    const ready = this.undoable;
    if (ready !== null && ready.until > Date.now()) this.undo(ready.scanId, 0);
    else if (this.undoTarget !== null) this.host.sheets.askUndo(this.undoTarget);
    else if (this.shown === null && this.undoBooking.length > 0) this.host.sheets.open("booking");
  }

  undo(scanId: string, keep: number): void {
    // The sheet names what it undoes: that is meant, however young the verdict behind it is.
    if (this.host.sheets.current !== "undo" && this.#tooSoon()) return;
    this.undoable = null;
    this.host.input({ type: "undo", scan_id: scanId, keep });
  }

  /** `code`: what was read or typed for it, if a code led to it. */
  show(verdict: VerdictView, code?: string): void {
    this.undone = null;
    const shown = this.#showing(verdict, false, code);
    const { sheets } = this.host;
    if (verdict.screen === "same_ticket" && !this.host.settings.kiosk && (verdict.booking?.others ?? []).length === 0) {
      if (sheets.current === "search") sheets.close();
      this.#uncover(verdict);
      this.strip = shown;
    } else {
      sheets.makeWay();
      this.#fill(shown);
    }
    if (verdict.can_undo && verdict.scan_id !== null) {
      this.undoable = { scanId: verdict.scan_id, until: shown.at + UNDO_MS };
    } else if (verdict.screen !== "same_ticket") {
      this.undoable = null;
    }
    this.host.hold();
  }

  /** The last verdict before this start: only a question fills the screen, or an old "go" would meet a new guest. */
  showAgain(verdict: VerdictView): void {
    const shown = this.#showing(verdict, true);
    if (asksCount(verdict)) this.shown = shown;
    else this.strip = shown;
    this.host.hold();
  }

  onUndone(scanId: string, count: number): void {
    // Of a booking one is undone by itself: what became of the others stays on the screen.
    if (this.shown?.verdict.scan_id === scanId && this.shown.verdict.booking?.became === undefined) this.#leave();
    if (this.host.sheets.current === "undo") this.host.sheets.close();
    this.undoable = null;
    this.undone = { scanId, count, at: Date.now() };
  }

  /** Takes a question off the screen: the engine no longer knows its scan. */
  dropQuestion(): void {
    if (!this.asksCount) return;
    this.shown = null;
    this.host.hold();
  }

  /** They were about tickets of another event: none of them can be answered any more. */
  clear(): void {
    this.shown = this.strip = this.undoable = null;
    clearTimeout(this.#keeping);
    this.#people = new Map();
    forgetPeople();
  }

  /** This gate's devices carry no names any more: none stays on the screen either. */
  forgetNames(): void {
    this.#people = nameless(this.#people);
    const bare = (shown: Shown): Shown => ({ ...shown, verdict: withoutNames(shown.verdict) });
    if (this.shown !== null) this.shown = bare(this.shown);
    if (this.strip !== null) this.strip = bare(this.strip);
  }

  #showing(verdict: VerdictView, again: boolean, code?: string): Shown {
    this.#people = withPerson(this.#people, verdict, code);
    this.#keepSoon();
    this.#count += 1;
    return { verdict, key: this.#count, at: Date.now(), again };
  }

  /** Not while a verdict is on its way to the screen. */
  #keepSoon(): void {
    clearTimeout(this.#keeping);
    this.#keeping = setTimeout(() => keepPeople(this.#people, this.host.view?.history ?? []), KEEP_MS);
  }

  #fill(shown: Shown): void {
    clearTimeout(this.#dwell);
    this.#freshen(this.shown !== null || performance.now() - this.#leftAt < FRESH_MS);
    this.shown = shown;
    const { kiosk, dwellMs } = this.host.settings;
    const answer = kiosk ? kioskAnswer(shown.verdict) : null;
    if (answer !== null) this.host.input(answer);
    if (kiosk || passes(shown.verdict)) {
      this.#dwell = setTimeout(() => {
        if (this.shown?.key !== shown.key) return;
        this.#leftAt = performance.now();
        this.#leave();
      }, kiosk ? KIOSK_MS : dwellMs);
    }
  }

  #leave(): void {
    const shown = this.shown;
    if (shown === null || asksCount(shown.verdict)) return;
    clearTimeout(this.#dwell);
    this.shown = null;
    // The strip has the last one: what came for the strip alone while this filled the screen stays there.
    if (this.strip === null || this.strip.key < shown.key) this.strip = shown;
    this.host.takeNext();
  }

  #freshen(on: boolean): void {
    clearTimeout(this.#freshTimer);
    this.fresh = on;
    this.#freshUntil = performance.now() + FRESH_MS;
    if (on) this.#freshTimer = setTimeout(() => (this.fresh = false), FRESH_MS);
  }

  /** Whether an act was meant for the verdict before; then it is not done, and whoever did it is told. */
  #tooSoon(): boolean {
    const shown = this.shown;
    if (shown === null || !this.fresh || performance.now() >= this.#freshUntil) return false;
    this.host.note(words.verdict.changed);
    // Those who listen hear the new one again: what is announced takes the place of what was being said.
    this.host.announce(`${spoken(shown.verdict)}. ${words.verdict.changed}`);
    return true;
  }

  /**
   * A repeated ticket has the strip alone: another guest's verdict does not stand before it, or the one who is here now
   * would be taken for that guest. What asks something stays: it holds the gate, so a repeat can only just have passed.
   */
  #uncover(repeated: VerdictView): void {
    if (this.shown === null || this.host.asking || ofSameTicket(this.shown.verdict, repeated)) return;
    clearTimeout(this.#dwell);
    this.shown = null;
    this.#leftAt = performance.now();
  }
}
