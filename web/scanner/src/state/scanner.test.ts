import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { VerdictView, View } from "../../../shared/core/engine.ts";
import type { FromEngine, ToEngine } from "../engine/messages.ts";
import { onKey } from "./keys.ts";
import { Scanner } from "./scanner.svelte.ts";
import { FRESH_MS } from "./showing.ts";
import { base } from "./verdicts.fixture.ts";

/** The messages of the page to its engine workers, one list for each worker, and a function that answers as the newest one. */
const { told, engine, read } = vi.hoisted(() => ({
  told: [] as ToEngine[][],
  engine: { says: (_: FromEngine): void => {} },
  /** The kinds of codes that the camera was told to read last. */
  read: { formats: [] as string[] },
}));

vi.mock("../engine/client.ts", () => ({
  EngineClient: class {
    readonly #told: ToEngine[] = [];
    constructor(_reader: MessagePort, _steal: boolean, listen: (message: FromEngine) => void) {
      told.push(this.#told);
      engine.says = listen;
    }
    input = (input: Extract<ToEngine, { kind: "input" }>["input"], readAt = 0) => this.#told.push({ kind: "input", input, readAt });
    aim = () => {};
    hold = (on: boolean) => this.#told.push({ kind: "hold", on });
    next = () => this.#told.push({ kind: "next" });
    end = () => {};
  },
}));
vi.mock("../camera/camera.ts", () => ({
  Camera: class {
    end = () => {};
    close = () => {};
    wake = () => {};
    setFormats = (formats: readonly string[]) => void (read.formats = [...formats]);
    face = () => {};
  },
}));

let scanner: Scanner;
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("navigator", {});
  told.length = 0;
  scanner = new Scanner();
  scanner.start(false);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const verdict = (id: string, change: Partial<VerdictView> = {}): VerdictView => ({ ...base, scan_id: `scan-${id}`, ticket_id: id, ...change });
const stop = (id: string): VerdictView => verdict(id, { screen: "refuse", opened: false, count: 0, may_admit: 0, outcome: "invalid" });
const party = (id: string): VerdictView => verdict(id, { screen: "admit_party", opened: false, count: 0, may_admit: 4, entry_limit: 4 });
const repeat = (id: string): VerdictView => verdict(id, { screen: "same_ticket", scan_id: null, same_ticket_ms: 4000, can_undo: false });
const show = (verdict: VerdictView) => engine.says({ kind: "show", verdict, again: false });

test.each([verdict("another"), stop("another")])("a repeated ticket takes another guest's verdict off the screen, and stays in the strip", (before) => {
  show(before);
  show(repeat("this"));
  expect(scanner.verdicts.shown).toBeNull();
  expect(scanner.verdicts.strip?.verdict.screen).toBe("same_ticket");
  expect(scanner.announcement).toMatch(/^Same ticket, 4 s ago/);
  vi.advanceTimersByTime(10_000);
  expect(scanner.verdicts.strip?.verdict.screen).toBe("same_ticket");
});

test("a repeat of the ticket whose verdict fills the screen leaves it there; the strip has what came last", () => {
  show(verdict("this"));
  show(repeat("this"));
  expect(scanner.verdicts.shown?.verdict.scan_id).toBe("scan-this");
  vi.advanceTimersByTime(10_000);
  expect(scanner.verdicts.shown).toBeNull();
  expect(scanner.verdicts.strip?.verdict.screen).toBe("same_ticket");
});

test("no repeated ticket sweeps a question away, or a refusal that staff are setting aside", () => {
  show(party("another"));
  show(repeat("this"));
  expect(scanner.verdicts.shown?.verdict.scan_id).toBe("scan-another");
  show({ ...party("another"), opened: true, count: 4 });
  show(stop("third"));
  vi.advanceTimersByTime(FRESH_MS);
  scanner.verdicts.openOverride();
  show(repeat("this"));
  expect(scanner.verdicts.shown?.verdict.scan_id).toBe("scan-third");
});

const onScreen = () => scanner.verdicts.shown?.verdict.scan_id ?? null;
const inputs = () => told.flat().filter((message) => message.kind === "input").map((message) => message.input);

test("a tap or key meant for the verdict before answers nothing of the one that took its place, and is told", () => {
  show(verdict("first"));
  show(party("second"));
  expect(scanner.verdicts.fresh).toBe(true);
  vi.advanceTimersByTime(FRESH_MS - 1);
  scanner.verdicts.count(4);
  for (const key of ["2", "Escape", "u"]) onKey(scanner, key);
  expect(inputs()).toEqual([]);
  expect(scanner.notice).toBe("The verdict has changed. Look, then tap again.");
  expect(scanner.announcement).toMatch(/^How many\?, 4 left\. The verdict has changed/);
  vi.advanceTimersByTime(1);
  expect(scanner.verdicts.fresh).toBe(false);
  scanner.verdicts.count(4);
  expect(inputs()).toEqual([{ type: "count", scan_id: "scan-second", count: 4 }]);
});

test("a stop that took another's place is neither dismissed nor set aside at once; an Undo does not take back the new scan", () => {
  show(verdict("first"));
  show({ ...stop("second"), can_override: true, can_undo: false });
  scanner.verdicts.next();
  for (const key of ["Enter", " ", "Escape"]) onKey(scanner, key);
  scanner.verdicts.openOverride();
  expect([onScreen(), scanner.sheets.current]).toEqual(["scan-second", null]);
  show(verdict("third"));
  scanner.verdicts.undo("scan-third", 0);
  expect(inputs()).toEqual([]);
  vi.advanceTimersByTime(FRESH_MS);
  scanner.verdicts.next();
  expect(onScreen()).toBeNull();
});

test("a verdict on a free screen is answered at once, unless the one before left it by itself just now", () => {
  show(verdict("first"));
  expect(scanner.verdicts.fresh).toBe(false);
  scanner.verdicts.next();
  show(stop("second"));
  scanner.verdicts.next();
  expect(onScreen()).toBeNull();
  show(verdict("third"));
  vi.advanceTimersByTime(scanner.settings.dwellMs + 100);
  expect(onScreen()).toBeNull();
  show(stop("fourth"));
  scanner.verdicts.next();
  expect(onScreen()).toBe("scan-fourth");
});

test("the next code and an undo that is recorded end a fresh verdict all the same", () => {
  show(stop("first"));
  show(stop("second"));
  show(verdict("third"));
  expect(onScreen()).toBe("scan-third");
  engine.says({ kind: "undone", scanId: "scan-third", count: 1 });
  expect(onScreen()).toBeNull();
});

test("what a hardware scanner typed is handed in once, with the other layout's reading where it differs", () => {
  engine.says({ kind: "tab", state: "writer" });
  scanner.setSettings({ prefix: "~", suffix: "#" });
  scanner.code("~QWERTZ#", "~AZERTY#");
  scanner.code("~12345#");
  expect(inputs()).toEqual([
    { type: "code", text: "QWERTZ", other: "AZERTY", method: "qr" },
    { type: "code", text: "12345", method: "qr" },
  ]);
});

test("the strip's Undo is about its own scan, and about the scan that a repeat repeats; later it asks first", () => {
  const row = { scan_id: "scan-this", ticket_id: "this", kind: "entry", screen: "admit", at: "", count: 1, opened: true, overridden: false, reverted: 0, short_code: "", sync: "sent" } as const;
  engine.says({ kind: "view", view: { ...view("e1"), history: [row] } });
  show(verdict("this"));
  scanner.verdicts.next();
  expect(scanner.verdicts.undoTarget?.scan_id).toBe("scan-this");
  show(repeat("this"));
  expect(scanner.verdicts.undoTarget?.scan_id).toBe("scan-this");
  vi.advanceTimersByTime(11_000);
  scanner.verdicts.undoLast();
  expect([scanner.sheets.current, scanner.sheets.undoRow?.scan_id]).toEqual(["undo", "scan-this"]);
  scanner.sheets.close();
  show(stop("other"));
  scanner.verdicts.next();
  expect(scanner.verdicts.undoTarget, "a refusal is not undone").toBeNull();
});

test("after a booking was let in at once Undo asks whom, and still does after the first", () => {
  const row = { kind: "entry", screen: "admit", at: "", count: 1, opened: true, overridden: false, reverted: 0, short_code: "", sync: "sent" } as const;
  const history = ["a", "b"].map((id) => ({ ...row, scan_id: id, ticket_id: id }));
  engine.says({ kind: "view", view: { ...view("e1"), history } });
  const became = history.map(({ scan_id }) => ({ ticket_id: scan_id, name: scan_id, zone: "general", persons: 1, scan_id }));
  show(verdict("b", { can_undo: false, booking: { others: [], already_in: 0, by_themselves: 0, became } }));
  scanner.verdicts.next();
  scanner.verdicts.undoLast();
  expect(scanner.sheets.current).toBe("booking");
  scanner.sheets.close();
  engine.says({ kind: "view", view: { ...view("e1"), history: [history[0]!, { ...history[1]!, reverted: 1 }] } });
  engine.says({ kind: "undone", scanId: "b", count: 1 });
  expect(scanner.verdicts.undoBooking.map((one) => one.scan_id)).toEqual(["a"]);
});

test("slow storage is told, and that a ticket was not taken for it", () => {
  engine.says({ kind: "slow", late: false });
  expect(scanner.notice).toBe("Storage is slow: wait.");
  engine.says({ kind: "slow", late: true });
  expect([scanner.notice, scanner.announcement]).toEqual(Array(2).fill("Storage is slow: that ticket was not taken. Scan it again."));
});

/** Whether the page told the newest engine worker to hold codes back. */
const held = () => told.at(-1)?.filter((message) => message.kind === "hold").at(-1)?.on ?? false;
const view = (event_id: string) => ({ phase: "ready", event_id, names: { state: "held", guests: 1 }, unsent: 0, sending: 0 }) as View;

test.each(["override", "undo", "search", "history"] as const)("a phone that is moved to another event closes its sheet %s and reads codes", (sheet) => {
  engine.says({ kind: "view", view: view("e1") });
  show(stop("one"));
  scanner.sheets.open(sheet);
  expect(held()).toBe(true);
  engine.says({ kind: "view", view: view("e1") });
  expect(scanner.sheets.current).toBe(sheet);
  engine.says({ kind: "view", view: view("e2") });
  expect([scanner.sheets.current, scanner.verdicts.shown, held()]).toEqual([null, null, false]);
});

test("whoever is pairing anew goes on with it when the event changes", () => {
  engine.says({ kind: "view", view: view("e1") });
  scanner.sheets.open("pair");
  engine.says({ kind: "view", view: view("e2") });
  expect([scanner.sheets.current, held()]).toEqual(["pair", true]);
});

test("where names are allowed no more, a guest's fields leave the screen with the name", () => {
  engine.says({ kind: "view", view: view("e1") });
  const fields = [{ label: "Table", value: "7" }];
  show(verdict("strip", { name: "Ana", fields }));
  scanner.verdicts.next();
  show(verdict("full", { name: "Bo", fields }));
  expect([scanner.verdicts.strip?.verdict.fields, scanner.verdicts.shown?.verdict.fields]).toEqual([fields, fields]);
  engine.says({ kind: "view", view: { ...view("e1"), names: { state: "off" } } });
  expect([scanner.verdicts.strip?.verdict.fields, scanner.verdicts.shown?.verdict.fields, scanner.verdicts.shown?.verdict.name]).toEqual([undefined, undefined, null]);
});

test("the camera reads the event's kinds of codes and those of this phone", () => {
  engine.says({ kind: "view", view: { ...view("e1"), barcode_kinds: ["aztec"] } });
  scanner.camera.useFormats(["Code128"]);
  expect([read.formats, scanner.camera.eventFormats]).toEqual([["Code128", "Aztec"], ["Aztec"]]);
  // At another event, the camera reads that event's kinds of codes. The kinds that this phone's setting adds stay.
  engine.says({ kind: "view", view: { ...view("e2"), barcode_kinds: ["ean_13"] } });
  expect(read.formats).toEqual(["Code128", "EAN13"]);
});

test("a tab that takes over again begins with no sheet open", () => {
  engine.says({ kind: "tab", state: "writer" });
  engine.says({ kind: "view", view: view("e1") });
  scanner.sheets.open("history");
  engine.says({ kind: "tab", state: "lost" });
  scanner.start(true);
  expect([scanner.sheets.current, held(), told.length]).toEqual([null, false, 2]);
});
