// Tests how the page's state handles messages of the engine and events of the browser. Both are replaced.
import { beforeEach, expect, test, vi } from "vitest";
import type { View } from "../../../shared/core/engine.ts";
import type { FromEngine } from "../engine/messages.ts";
import { Scanner } from "./scanner.svelte.ts";

class FakeWorker {
  static named = new Map<string, FakeWorker>();
  onmessage: (event: { data: unknown }) => void = () => {};
  constructor(_url: URL, { name }: { name: string }) {
    FakeWorker.named.set(name, this);
  }
  postMessage(): void {}
  terminate(): void {}
}

const HOUR = 3_600_000;
const ready = { phase: "ready", event_id: "event", unsent: 0, clock_offset_ms: null, names: { state: "off" } } as unknown as View;

const storage = { persisted: vi.fn(async () => false), persist: vi.fn(async () => false) };

/** Sends a message to the page as the engine worker does. */
function tell(message: FromEngine): void {
  FakeWorker.named.get("engine")!.onmessage({ data: message });
}

beforeEach(() => {
  vi.clearAllMocks();
  vi.useFakeTimers();
  vi.stubGlobal("Worker", FakeWorker);
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("navigator", { userAgent: "Mobile", storage });
  return () => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  };
});

test("ages count by the server's clock, countdowns by the phone's", () => {
  const scanner = new Scanner();
  scanner.start(false);
  const wall = Date.parse("2026-06-07T21:00:00Z");
  scanner.now = wall;
  expect(scanner.serverNow).toBe(wall);
  tell({ kind: "view", view: { ...ready, clock_offset_ms: -HOUR } });
  expect(scanner.serverNow).toBe(wall - HOUR);
  expect(scanner.now).toBe(wall);
  tell({ kind: "view", view: ready });
  expect(scanner.serverNow).toBe(wall - HOUR);
});

test("a paired phone that comes to scan learns whether its storage is kept, once per start", async () => {
  storage.persisted.mockResolvedValue(true);
  const scanner = new Scanner();
  scanner.start(false);
  tell({ kind: "view", view: { ...ready, phase: "first_sync" } });
  await vi.advanceTimersByTimeAsync(0);
  expect(scanner.persisted).toBeNull();
  for (const phase of ["key_unknown", "ready", "key_unknown", "ready"] as const) tell({ kind: "view", view: { ...ready, phase } });
  await vi.advanceTimersByTimeAsync(0);
  expect(scanner.persisted).toBe(true);
  expect(storage.persisted).toHaveBeenCalledTimes(1);
  expect(storage.persist).not.toHaveBeenCalled();
});

test("at a gate without names the sheet stays open while a code is typed, whatever the engine says meanwhile", () => {
  const scanner = new Scanner();
  scanner.start(false);
  tell({ kind: "view", view: { ...ready, names: { state: "held", guests: 3 } } });
  scanner.sheets.open("search");
  tell({ kind: "view", view: ready });
  expect(scanner.sheets.current, "what it shows may be names").toBeNull();
  scanner.sheets.open("search");
  for (const unsent of [1, 0]) tell({ kind: "view", view: { ...ready, unsent } });
  expect(scanner.sheets.current).toBe("search");
});

test("a removed gate is told by the name that the list before gave it", () => {
  const scanner = new Scanner();
  scanner.start(false);
  tell({ kind: "view", view: { ...ready, gates: [{ id: "tent", name: "Tent", direction: "in" }] } });
  tell({ kind: "view", view: { ...ready, gates: [] } });
  expect(scanner.gateNames.get("tent")).toBe("Tent");
});
