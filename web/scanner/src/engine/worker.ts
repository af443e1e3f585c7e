/**
 * The engine worker. In a tab, only it uses the core, the journal, the network and the clock. The decoder worker sends codes
 * directly to it, so a busy page delays no verdict.
 */
import type { DeviceType, Input } from "../../../shared/core/engine.ts";
import { loadCore } from "../../../shared/core/load.ts";
import { Cache } from "../storage/cache.ts";
import { Journal, JournalError } from "../storage/journal.ts";
import { browserFolder } from "../storage/twin.ts";
import { systemClock } from "./clock.ts";
import { CodeGate } from "./gate.ts";
import { send } from "./http.ts";
import { holdWriterLock } from "./lock.ts";
import type { Aim, FromEngine, PageInput, ReaderAnswer, ReaderMessage, ToEngine } from "./messages.ts";
import { placeOf } from "./place.ts";
import { Runner, type CodeRead, type Listener } from "./runner.ts";

const page = self as unknown as DedicatedWorkerGlobalScope;
const post = (message: FromEngine) => page.postMessage(message);

const clock = systemClock();
const gate = new CodeGate();
/** Loading starts at once, while the worker still waits for the lock and the journal. */
const core = loadCore();
core.catch(() => {});

let reader: MessagePort | null = null;
let aim: Aim = "tickets";
let runner: Runner | null = null;
let ready = false;
let stopped = false;
/** Inputs that came before the journal was read. */
const early: { input: Input; cause: CodeRead | undefined }[] = [];

page.onmessage = (event: MessageEvent<ToEngine>) => {
  const message = event.data;
  switch (message.kind) {
    case "boot":
      reader = message.reader;
      reader.onmessage = (read: MessageEvent<ReaderMessage>) => onRead(read.data);
      void holdWriterLock(message.steal, {
        granted: () => void start(message.deviceType),
        elsewhere: () => post({ kind: "tab", state: "elsewhere" }),
        lost,
        refused: (why) => post({ kind: "fault", what: "storage", reason: "no_lock", error: why }),
      });
      return;
    case "input":
      onPageInput(message.input, message.readAt);
      return;
    case "aim":
      aim = message.aim;
      return;
    case "look":
      void placeOf(message.token).then((place) => post({ kind: "place", token: message.token, place }));
      return;
    case "hold":
      gate.hold(message.on);
      return;
    case "next":
      gate.cleared();
      return;
  }
};

async function start(deviceType: DeviceType): Promise<void> {
  post({ kind: "tab", state: "writer" });
  const cache = new Cache();
  const bodies = cache.all().catch(() => []);
  const folder = browserFolder();
  let opened: Awaited<ReturnType<typeof Journal.open>>;
  try {
    opened = await Journal.open(indexedDB, await folder);
  } catch (error) {
    post({ kind: "fault", what: "storage", ...(error instanceof JournalError ? { reason: error.reason, error: "" } : unnamed(error)) });
    return;
  }
  let engine: InstanceType<Awaited<typeof core>>;
  let appVersion: string;
  try {
    const ScannerEngine = await core;
    engine = new ScannerEngine();
    appVersion = ScannerEngine.version();
  } catch (error) {
    post({ kind: "fault", what: "core", ...unnamed(error) });
    return;
  }
  if (stopped) return;
  runner = new Runner({
    engine,
    clock,
    journal: opened.journal,
    cache,
    gate,
    send,
    timers: { set: (run, ms) => self.setTimeout(run, ms), clear: (timer) => self.clearTimeout(timer) },
    listener,
  });
  runner.feed({
    type: "start",
    session_id: clock.sessionId,
    rows: opened.rows,
    app_version: appVersion,
    device_type: deviceType,
  });
  for (const { key, body } of await bodies) runner.feed({ type: "cache", key }, body);
  runner.feed({ type: "started" });
  ready = true;
  for (const { input, cause } of early.splice(0)) runner.feed(input, undefined, cause);
}

function feed(input: Input, cause?: CodeRead): void {
  if (ready) runner?.feed(input, undefined, cause);
  else early.push({ input, cause });
}

const listener: Listener = {
  view: (view) => post({ kind: "view", view }),
  show(verdict, cause) {
    const again = !ready;
    if (!again) gate.shown(verdict, clock.mono());
    if (cause === undefined) {
      post({ kind: "show", verdict, again });
      return;
    }
    post({ kind: "show", verdict, again, readAt: cause.readAt, camera: cause.byHand !== true, code: cause.text });
    answer({ kind: "verdict", text: cause.text });
  },
  undone: (scanId, count) => post({ kind: "undone", scanId, count }),
  found: (text, guests, more) => post({ kind: "found", text, guests, more }),
  pinRefused: (triesLeft, pausedForMs) => post({ kind: "pin_refused", triesLeft, pausedForMs }),
  pinOk: () => post({ kind: "pin_ok" }),
  refused: (code, message) => post({ kind: "refused", code, message }),
  exported: (name, text) => post({ kind: "export", name, text }),
  progress: (path, received, total) => post({ kind: "progress", path, received, total }),
  declined(cause, late) {
    // The page is also told of a late code of the camera. Its guest may be out of view, so the camera may never offer it again.
    if (late) post({ kind: "slow", late });
    else if (cause.byHand === true) post({ kind: "held" });
    if (cause.byHand !== true) answer({ kind: "declined", text: cause.text });
  },
  slow: () => post({ kind: "slow", late: false }),
  broken: (message) => post({ kind: "fault", what: "core", reason: "error", error: message }),
};

/** A code the camera sees. */
function onRead({ text, readAt }: ReaderMessage): void {
  if (aim === "pairing") {
    post({ kind: "pairing_code", text });
    return;
  }
  if (!gate.open(clock.mono())) {
    answer({ kind: "declined", text });
    if (gate.held) post({ kind: "held" });
    return;
  }
  feed({ type: "code", text, method: "qr" }, { text, readAt });
}

/** A code of the hardware scanner, or something a person pressed. */
function onPageInput(input: PageInput, readAt?: number): void {
  if (input.type !== "code") {
    feed(input);
    return;
  }
  if (aim === "pairing") {
    post({ kind: "pairing_code", text: input.text });
    return;
  }
  if (gate.held) {
    post({ kind: "held" });
    return;
  }
  // The person who pulled the trigger of a hardware scanner has seen the screen, so the verdict need not stay longer.
  feed(input, { text: input.text, readAt: readAt ?? performance.timeOrigin + performance.now(), byHand: true });
}

function answer(message: ReaderAnswer): void {
  reader?.postMessage(message);
}

function lost(): void {
  stopped = true;
  runner?.stop();
  post({ kind: "tab", state: "lost" });
}

/** A fault for an unexpected error, with the error's own text. */
function unnamed(error: unknown): { reason: "error"; error: string } {
  return { reason: "error", error: error instanceof Error ? error.message : String(error) };
}
