import type { FoundGuest, Headcount, HistoryRow } from "../../../shared/core/engine.ts";
import type { PageInput } from "../engine/messages.ts";
import { OF_A_SCAN, type Sheet } from "./showing.ts";

/** As much of the scanner as this needs. */
export interface SheetsHost {
  busy: boolean;
  pin: { triesLeft: number; pausedUntil: number } | null;
  input(input: PageInput): void;
  /** Tells the engine whether codes are held back now. */
  hold(): void;
}

/** The sheet that is open, if one is, and what staff ask for in it. */
export class Sheets {
  current = $state<Sheet>(null);
  /** What went wrong with what was asked for in it. */
  error = $state("");
  /** The name that a search did not find, for the guest to be added. */
  guestName = $state("");
  /** The history row the undo sheet is about. */
  undoRow = $state.raw<HistoryRow | null>(null);
  /** What the last search found. */
  found = $state.raw<{ text: string; guests: FoundGuest[]; more: boolean } | null>(null);

  constructor(private readonly host: SheetsHost) {}

  /** What is asked in it ends in a scan. The verdict closes it, and it shows what went wrong. */
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

  /** A verdict fills the screen: a sheet that ends in a scan closes. */
  makeWay(): void {
    if (this.isOfAScan) this.current = null;
    this.found = null;
    this.host.pin = null;
  }

  /** Asks whether a scan is to be taken back, and how much of it. */
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

  /** Admits a guest who was refused: who decides it, why, and their PIN. */
  override(given: Omit<Extract<PageInput, { type: "override" }>, "type">): void {
    this.#begin();
    this.host.input({ type: "override", ...given });
  }

  /** Looks for guests by a part of the name; `found` follows. */
  search(text: string): void {
    this.host.input({ type: "search", text });
  }

  /** Checks a guest in by hand. */
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
