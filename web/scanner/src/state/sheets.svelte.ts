import type { FoundGuest, Headcount, HistoryRow } from "../../../shared/core/engine.ts";
import type { PageInput } from "../engine/messages.ts";
import { OF_A_SCAN, type Sheet } from "./showing.ts";

/** The part of the scanner that this module uses. */
export interface SheetsHost {
  busy: boolean;
  pin: { triesLeft: number; pausedUntil: number } | null;
  input(input: PageInput): void;
  /** Tells the engine whether it must hold codes back now. */
  hold(): void;
}

/** The open sheet, and the actions that sheets offer. */
export class Sheets {
  current = $state<Sheet>(null);
  /** The error of the last action in the sheet. Empty if there is none. */
  error = $state("");
  /** The name that a search did not find. The sheet that adds a guest starts with it. */
  guestName = $state("");
  /** The history row that the undo sheet is about. */
  undoRow = $state.raw<HistoryRow | null>(null);
  /** The result of the last search. */
  found = $state.raw<{ text: string; guests: FoundGuest[]; more: boolean } | null>(null);

  constructor(private readonly host: SheetsHost) {}

  /** Whether the sheet leads to a scan. The scan's verdict closes such a sheet, and the sheet shows errors itself. */
  get isOfAScan(): boolean {
    return this.current !== null && OF_A_SCAN.has(this.current);
  }

  open(sheet: Exclude<Sheet, null>): void {
    this.error = "";
    this.current = sheet;
    this.host.hold();
  }

  close(): void {
    this.current = null;
    this.undoRow = null;
    this.found = null;
    this.error = "";
    this.host.hold();
  }

  /** A verdict fills the screen. Closes a sheet that leads to a scan. */
  makeWay(): void {
    if (this.isOfAScan) this.current = null;
    this.found = null;
    this.host.pin = null;
  }

  /** Opens the sheet that asks whether to undo a scan, and for how many persons. */
  askUndo(row: HistoryRow): void {
    this.undoRow = row;
    this.open("undo");
  }

  /** Staff want to add a guest who has no ticket. */
  openAddGuest(name = ""): void {
    this.guestName = name;
    this.host.pin = null;
    this.close();
    this.open("add_guest");
  }

  addGuest(name: string, zone: string, party: number, pin: string): void {
    this.#begin();
    this.host.input({ type: "walk_in", name, zone, party, pin });
  }

  /** Admits a refused guest. `given` has the person who decides, the reason and the PIN. */
  override(given: Omit<Extract<PageInput, { type: "override" }>, "type">): void {
    this.#begin();
    this.host.input({ type: "override", ...given });
  }

  /** Searches guests by a part of the name. The result comes into `found`. */
  search(text: string): void {
    this.host.input({ type: "search", text });
  }

  /** Admits a found guest without a code. */
  pick(ticketId: string): void {
    if (this.host.busy) return;
    this.#begin();
    this.host.input({ type: "guest", ticket_id: ticketId });
  }

  /** Counts people without a ticket. Each tap is a scan of its own. */
  count(headcount: Headcount): void {
    this.error = "";
    this.host.input({ type: "headcount", headcount });
  }

  #begin(): void {
    this.host.busy = true;
    this.error = "";
  }
}
