import type { HistoryRow, VerdictView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import type { PageInput } from "../engine/messages.ts";
import { KIOSK_MS, kioskAnswer } from "./guard.ts";
import { bookingTargets, forgetPeople, isSent, keepPeople, keptPeople, nameless, type People, type Person, personOf, undoTargetOf, withoutNames, withPerson } from "./people.ts";
import type { Settings } from "./settings.ts";
import type { Sheets } from "./sheets.svelte.ts";
import { FRESH_MS, passes, type Shown, UNDO_MS } from "./showing.ts";
import { asksCount, ofSameTicket, spoken } from "./words.ts";

/** The part of the scanner that this module uses. */
export interface VerdictsHost {
  readonly settings: Settings;
  readonly view: View | null;
  readonly sheets: Sheets;
  /** Wall clock, milliseconds. */
  readonly now: number;
  /** Whether the screen asks a question that no code's verdict may replace. */
  readonly asking: boolean;
  busy: boolean;
  input(input: PageInput): void;
  /** Staff have seen the verdict and want the next code. */
  takeNext(): void;
  /** Tells the engine whether it must hold codes back now. */
  hold(): void;
  announce(text: string): void;
  /** Shows it on the screen only. */
  note(text: string): void;
}

/** Types and codes are stored for the history this long after a verdict, milliseconds. */
const KEEP_MS = 300;

/** The verdict on the screen, the one in the strip, and the actions that staff have for them. */
export class Verdicts {
  /** The verdict that fills the screen. Null if there is none. */
  shown = $state.raw<Shown | null>(null);
  /** The last verdict, which the strip on the home screen shows. */
  strip = $state.raw<Shown | null>(null);
  /** The scan that was just undone, and the number of persons. It is shown in place of the strip. */
  undone = $state.raw<{ scanId: string; count: number; at: number } | null>(null);
  /** The scan that Undo applies to now, and until when (wall clock). Null if there is none. */
  undoable = $state.raw<{ scanId: string; until: number } | null>(null);
  /** Whether the verdict on the screen has just replaced another one, so that taps are ignored. */
  fresh = $state(false);

  /** The guests of the last scans. */
  #people = $state.raw<People>(keptPeople());
  #keeping: ReturnType<typeof setTimeout> | undefined;
  /** The number of verdicts shown so far, which is the key of the last one. */
  #count = 0;
  #dwell: ReturnType<typeof setTimeout> | undefined;
  #freshTimer: ReturnType<typeof setTimeout> | undefined;
  /** Until when `fresh` holds, and when a verdict last left by itself. Both by the monotonic clock. */
  #freshUntil = 0;
  #leftAt = -Infinity;

  constructor(private readonly host: VerdictsHost) {}

  /** Whether the verdict on the screen asks how many persons go in. */
  get asksCount(): boolean {
    return this.shown !== null && asksCount(this.shown.verdict);
  }

  /** How many whole seconds the button Undo stays. */
  get undoSeconds(): number {
    const left = this.undoable === null ? 0 : this.undoable.until - this.host.now;
    return Math.min(UNDO_MS / 1000, Math.max(0, Math.ceil(left / 1000)));
  }

  get undoTarget(): HistoryRow | null {
    return this.undone === null ? undoTargetOf(this.strip?.verdict, this.host.view?.history ?? []) : null;
  }

  /** The rows of the strip's booking that can still be undone. */
  get undoBooking(): HistoryRow[] {
    return bookingTargets(this.strip?.verdict, this.host.view?.history ?? []);
  }

  /** The guest of a scan. Null: no longer known. */
  personOf(row: Pick<HistoryRow, "scan_id" | "ticket_id">): Person | null {
    return personOf(this.#people, row);
  }

  /** Whether the server has this scan by now. */
  isConfirmed(verdict: VerdictView): boolean {
    return isSent(verdict, this.host.view?.history ?? []);
  }

  /** Staff have seen the verdict, so the camera is shown again. */
  next(): void {
    if (!this.#tooSoon()) this.#leave();
  }

  /** Answers the question how many persons go in. */
  count(persons: number): void {
    const id = this.shown?.verdict.scan_id;
    if (id === null || id === undefined || this.host.busy || this.#tooSoon()) return;
    this.host.busy = true;
    this.host.input({ type: "count", scan_id: id, count: persons });
  }

  /** Admits the booking's other tickets, with one scan for each. */
  admitBooking(): void {
    const { scan_id, booking } = this.shown?.verdict ?? {};
    if (scan_id === null || scan_id === undefined || booking === undefined || this.host.busy || this.#tooSoon()) return;
    this.host.busy = true;
    this.host.input({ type: "booking", scan_id, ticket_ids: booking.others.map((other) => other.ticket_id) });
  }

  /** Staff want to let a refused guest in. */
  openOverride(): void {
    if (!this.#tooSoon()) this.host.sheets.open("override");
  }

  /** Staff search by name for a guest whose code is unknown. */
  openSearch(): void {
    if (this.#tooSoon()) return;
    this.#leave();
    this.host.sheets.open("search");
  }

  /** Undoes the last scan. Within ten seconds it does so at once; later a sheet asks first. */
  undoLast(): void {
    const ready = this.undoable;
    if (ready !== null && ready.until > Date.now()) this.undo(ready.scanId, 0);
    else if (this.undoTarget !== null) this.host.sheets.askUndo(this.undoTarget);
    else if (this.shown === null && this.undoBooking.length > 0) this.host.sheets.open("booking");
  }

  undo(scanId: string, keep: number): void {
    // A tap in the undo sheet is never meant for the verdict before, because the sheet names its scan.
    if (this.host.sheets.current !== "undo" && this.#tooSoon()) return;
    this.undoable = null;
    this.host.input({ type: "undo", scan_id: scanId, keep });
  }

  /** Shows a verdict. `code`: the text that was read or typed, if a code led to the verdict. */
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

  /** Shows the last verdict before this start. Only a question fills the screen. An old "Admit" there could be taken for the next guest's. */
  showAgain(verdict: VerdictView): void {
    const shown = this.#showing(verdict, true);
    if (asksCount(verdict)) this.shown = shown;
    else this.strip = shown;
    this.host.hold();
  }

  onUndone(scanId: string, count: number): void {
    // If one scan of an admitted booking is undone, the results of the others stay on the screen.
    if (this.shown?.verdict.scan_id === scanId && this.shown.verdict.booking?.became === undefined) this.#leave();
    if (this.host.sheets.current === "undo") this.host.sheets.close();
    this.undoable = null;
    this.undone = { scanId, count, at: Date.now() };
  }

  /** Removes a question from the screen, because the engine no longer knows its scan. */
  dropQuestion(): void {
    if (!this.asksCount) return;
    this.shown = null;
    this.host.hold();
  }

  /** Removes all verdicts, because the device has another event now and nobody can answer them any more. */
  clear(): void {
    this.shown = this.strip = this.undoable = null;
    clearTimeout(this.#keeping);
    this.#people = new Map();
    forgetPeople();
  }

  /** Removes names from the verdicts, because devices at this gate may no longer have them. */
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

  /** Stores the people a moment later, so that a verdict is painted first. */
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
    // The strip shows the newest verdict. A newer one may have come for the strip while this one filled the screen.
    if (this.strip === null || this.strip.key < shown.key) this.strip = shown;
    this.host.takeNext();
  }

  #freshen(on: boolean): void {
    clearTimeout(this.#freshTimer);
    this.fresh = on;
    this.#freshUntil = performance.now() + FRESH_MS;
    if (on) this.#freshTimer = setTimeout(() => (this.fresh = false), FRESH_MS);
  }

  /** Whether a tap came so soon that it was meant for the verdict before. Then staff are told that nothing was done. */
  #tooSoon(): boolean {
    const shown = this.shown;
    if (shown === null || !this.fresh || performance.now() >= this.#freshUntil) return false;
    this.host.note(words.verdict.changed);
    // An announcement interrupts the one before, so screen readers get the new verdict once more.
    this.host.announce(`${spoken(shown.verdict)}. ${words.verdict.changed}`);
    return true;
  }

  /**
   * Removes another guest's verdict from the screen, because a repeated ticket is shown only in the strip. Otherwise staff would take
   * the guest who stands here for the other one. A question stays; while it is open, codes are held back.
   */
  #uncover(repeated: VerdictView): void {
    if (this.shown === null || this.host.asking || ofSameTicket(this.shown.verdict, repeated)) return;
    clearTimeout(this.#dwell);
    this.shown = null;
    this.#leftAt = performance.now();
  }
}
