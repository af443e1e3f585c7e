import { beforeEach, expect, test } from "vitest";
import type { Effect, Input, Row, SendEffect, VerdictView } from "../../../shared/core/engine.ts";
import { AppendError } from "../storage/journal.ts";
import type { Answer } from "./http.ts";
import { Runner, type CodeRead } from "./runner.ts";

/** An engine that answers each input with the effects that the test wrote for it, and notes the inputs. */
class ScriptedEngine {
  readonly inputs: Input[] = [];
  readonly bodies: (Uint8Array | undefined)[] = [];
  readonly script = new Map<Input["type"], Effect[]>();
  handle(input: string, body: Uint8Array | undefined): string {
    const parsed = JSON.parse(input) as Input;
    this.inputs.push(parsed);
    this.bodies.push(body);
    const effects = this.script.get(parsed.type) ?? [];
    this.script.delete(parsed.type);
    return JSON.stringify(effects);
  }
  get types(): string[] {
    return this.inputs.map((input) => input.type);
  }
}

let engine: ScriptedEngine;
let log: string[];
let mono: number;
let timers: { run: () => void; ms: number; dead: boolean }[];
let appends: { rows: Row[]; done: () => void; fail: (error: unknown) => void }[];
let sends: { effect: SendEffect; signal: AbortSignal; done: (answer: Answer) => void; fail: () => void }[];
let shown: { verdict: VerdictView; cause: CodeRead | undefined }[];
let saving: Promise<void>;
/** Whether another verdict may replace the one on the screen. */
let open: boolean;
let runner: Runner;

beforeEach(() => {
  engine = new ScriptedEngine();
  log = [];
  mono = 1000;
  timers = [];
  appends = [];
  sends = [];
  shown = [];
  saving = Promise.resolve();
  open = true;
  runner = new Runner({
    engine,
    clock: { sessionId: "s", mono: () => mono, now: () => ({ wall_ms: 0, mono_ms: mono, random: [] }) },
    journal: {
      append: (rows) => {
        log.push(`append ${rows.length}`);
        return new Promise((done, fail) => appends.push({ rows, done, fail }));
      },
      purge: (row) => {
        log.push(`purge ${row.n}`);
        return Promise.reject(new AppendError("closed"));
      },
    },
    cache: {
      seal: (key, body) => {
        log.push(`seal ${key} ${new TextDecoder().decode(body)}`);
        return Promise.resolve();
      },
      save: (key, body) => {
        log.push(`save ${key} ${new TextDecoder().decode(body)}`);
        return saving;
      },
      forget: async (key) => void log.push(`forget ${key}`),
      wipe: async () => void log.push("wipe"),
    },
    send: (effect, signal) => {
      log.push(`send ${effect.request}`);
      return new Promise((done, reject) => {
        const fail = () => reject(new Error("no network"));
        signal.addEventListener("abort", fail);
        sends.push({ effect, signal, done, fail });
      });
    },
    timers: {
      set: (run, ms) => timers.push({ run, ms, dead: false }) - 1,
      clear: (timer) => {
        const found = timers[timer];
        if (found !== undefined) found.dead = true;
      },
    },
    gate: { open: () => open },
    listener: {
      declined: (cause, late) => log.push(`declined ${cause.text}${late ? " late" : ""}`),
      slow: () => log.push("slow"),
      view: () => log.push("view"),
      show: (verdict, cause) => shown.push({ verdict, cause }),
      undone: (_, count) => log.push(`undone ${count}`),
      found: (text, guests) => log.push(`found ${text} ${guests.length}`),
      pinRefused: (left, paused) => log.push(`pin ${left} ${paused}`),
      pinOk: () => log.push("pin ok"),
      refused: (code) => log.push(`refused ${code}`),
      exported: (name) => log.push(`export ${name}`),
      progress: () => {},
      broken: (message) => log.push(`broken ${message}`),
    },
  });
});

const settle = () => new Promise((done) => setTimeout(done, 0));
const append = (n: number): Effect => ({ type: "append", append: n, rows: [{ n, text: "x" }] });
const verdict = { screen: "admit" } as VerdictView;
const request = (n: number): Effect => ({ type: "send", request: n, method: "POST", path: "/api/x", headers: [], body: null, timeout_ms: 5000 });
const answer: Answer = { status: 200, headers: [["x-a", "1"]], body: new Uint8Array([7]) };

test("effects are carried out in the order the engine gave them, at once", () => {
  engine.script.set("tick", [append(1), request(1), { type: "undone", scan_id: "s", count: 2 }, { type: "forget", key: "o" }, { type: "purge", row: { n: 3, text: "sum" } }, { type: "wipe_caches" }]);
  runner.feed({ type: "tick" });
  expect(log).toEqual(["append 1", "send 1", "undone 2", "forget o", "purge 3", "wipe"]);
});

test("a save is flushed before anything after it, also before what a later input brings", async () => {
  let flushed = () => {};
  saving = new Promise((done) => (flushed = done));
  engine.script.set("tick", [{ type: "save", key: "k", text: "t" }, append(1)]);
  engine.script.set("online", [request(1)]);
  runner.feed({ type: "tick" });
  runner.feed({ type: "online" });
  await settle();
  expect(log).toEqual(["save k t"]);
  flushed();
  await settle();
  expect(log).toEqual(["save k t", "append 1", "send 1"]);
});

test("a save that fails stops nothing, and the engine is told what is not stored", async () => {
  saving = Promise.reject(new Error("full"));
  engine.script.set("tick", [{ type: "save", key: "k", text: "t" }, append(1)]);
  runner.feed({ type: "tick" });
  await settle();
  expect(log).toEqual(["save k t", "append 1"]);
  expect(engine.inputs[1]).toEqual({ type: "save_failed", key: "k" });
});

test("a verdict is shown only after its rows are durable, and names the code it came from", async () => {
  const cause = { text: "A", readAt: 42 };
  engine.script.set("code", [append(1)]);
  engine.script.set("appended", [{ type: "show", verdict }]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, cause);
  await settle();
  expect(shown).toEqual([]);
  appends[0]?.done();
  await settle();
  expect(engine.inputs[1]).toEqual({ type: "appended", append: 1 });
  expect(shown).toEqual([{ verdict, cause }]);
});

test("a code that comes during an append is put to the engine after it; each verdict keeps its own cause", async () => {
  engine.script.set("code", [append(1)]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, { text: "A", readAt: 1 });
  runner.feed({ type: "code", text: "B", method: "qr" }, undefined, { text: "B", readAt: 2 });
  expect(engine.types).toEqual(["code"]);
  engine.script.set("appended", [{ type: "show", verdict }]);
  engine.script.set("code", [append(2)]);
  appends[0]?.done();
  await settle();
  engine.script.set("appended", [{ type: "show", verdict }]);
  appends[1]?.done();
  await settle();
  expect(engine.types).toEqual(["code", "appended", "code", "appended"]);
  expect(shown.map((one) => one.cause?.text)).toEqual(["A", "B"]);
});

test("a code that waited does not sweep a stop or a question away: it is declined, and the next one too", async () => {
  engine.script.set("code", [append(1)]);
  for (const text of ["A", "B", "C"]) runner.feed({ type: "code", text, method: "qr" }, undefined, { text, readAt: 1 });
  engine.script.set("appended", [{ type: "show", verdict: { ...verdict, screen: "refuse" } }]);
  open = false;
  appends[0]?.done();
  await settle();
  expect(engine.types).toEqual(["code", "appended"]);
  expect(shown.map((one) => one.verdict.screen)).toEqual(["refuse"]);
  expect(log).toEqual(["append 1", "declined B", "declined C"]);
});

/** Advances the clock, and runs the timers that are due by then. */
function pass(ms: number): void {
  const due = timers.filter((timer) => !timer.dead && timer.ms <= ms);
  mono += ms;
  for (const timer of due) {
    timer.dead = true;
    timer.run();
  }
}

test("a code that waited for storage until its guest may have moved on is declined as late, a younger one judged", async () => {
  engine.script.set("code", [append(1)]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, { text: "A", readAt: 1 });
  runner.feed({ type: "code", text: "B", method: "qr" }, undefined, { text: "B", readAt: 2 });
  mono += 600;
  runner.feed({ type: "code", text: "C", method: "qr" }, undefined, { text: "C", readAt: 3 });
  mono += 900;
  engine.script.set("appended", [{ type: "show", verdict }]);
  appends[0]?.done();
  await settle();
  expect(log).toEqual(["append 1", "declined B late"]);
  expect(engine.inputs.flatMap((input) => (input.type === "code" ? [input.text] : []))).toEqual(["A", "C"]);
});

test("while storage hangs its codes are declined all the same, and its slowness is told once", async () => {
  engine.script.set("code", [append(1)]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, { text: "A", readAt: 1 });
  runner.feed({ type: "code", text: "B", method: "qr" }, undefined, { text: "B", readAt: 2 });
  pass(1000);
  expect(log).toEqual(["append 1", "slow"]);
  pass(1501);
  pass(60_000);
  expect(log).toEqual(["append 1", "slow", "declined B late"]);
  appends[0]?.done();
  await settle();
  expect(engine.types).toEqual(["code", "appended"]);
});

test("storage that writes in time is not called slow, one that does not is", async () => {
  for (const n of [1, 2]) {
    engine.script.set("tick", [append(n)]);
    runner.feed({ type: "tick" });
    appends[n - 1]?.done();
    await settle();
    pass(1000);
  }
  expect(log).toEqual(["append 1", "append 1"]);
  engine.script.set("tick", [append(3)]);
  runner.feed({ type: "tick" });
  pass(1000);
  expect(log).toEqual(["append 1", "append 1", "append 1", "slow"]);
});

test("an append that did not happen is told with its word", async () => {
  engine.script.set("code", [append(5)]);
  runner.feed({ type: "code", text: "A", method: "qr" });
  appends[0]?.fail(new AppendError("lost_lock"));
  await settle();
  expect(engine.inputs[1]).toEqual({ type: "append_failed", append: 5, reason: "lost_lock" });
});

test("an answer comes back with its bytes, its headers and the time it was sent at", async () => {
  engine.script.set("tick", [request(3)]);
  engine.script.set("response", [{ type: "save", key: "list", text: null }, { type: "wake", at_mono_ms: 9000 }]);
  runner.feed({ type: "tick" });
  mono = 1234;
  sends[0]?.done({ ...answer, body: new TextEncoder().encode("bytes") });
  await settle();
  expect(engine.inputs[1]).toEqual({ type: "response", request: 3, status: 200, headers: [["x-a", "1"]], sent_mono_ms: 1000 });
  expect(log, "the body of the answer being handled").toContain("save list bytes");
  expect(timers[0]?.dead, "its timer is gone").toBe(true);
});

test("no answer, or none in time, is a failure", async () => {
  engine.script.set("tick", [request(1), request(2)]);
  runner.feed({ type: "tick" });
  sends[0]?.fail();
  expect(timers[1]?.ms).toBe(5000);
  timers[1]?.run();
  await settle();
  expect(engine.inputs.slice(1)).toEqual([{ type: "failed", request: 1 }, { type: "failed", request: 2 }]);
});

test("a cancelled request is aborted and never heard of again", async () => {
  engine.script.set("tick", [request(1), { type: "cancel", request: 1 }]);
  runner.feed({ type: "tick" });
  sends[0]?.done(answer);
  await settle();
  expect(sends[0]?.signal.aborted).toBe(true);
  expect(engine.types).toEqual(["tick"]);
});

test("a later wake replaces the earlier one", () => {
  engine.script.set("online", [{ type: "wake", at_mono_ms: 1500 }, { type: "wake", at_mono_ms: 1200 }]);
  runner.feed({ type: "online" });
  expect(timers.map(({ ms, dead }) => [ms, dead])).toEqual([[500, true], [200, false]]);
  timers[1]?.run();
  expect(engine.types).toEqual(["online", "tick"]);
});

test("the pause after wrong PINs is told as a length: the page has another clock", () => {
  engine.script.set("tick", [{ type: "pin_refused", tries_left: 0, paused_until_mono_ms: 31_000 }]);
  runner.feed({ type: "tick" });
  expect(log).toEqual(["pin 0 30000"]);
});

test("after the lock is lost nothing goes in or out", async () => {
  engine.script.set("tick", [request(1), append(1), { type: "wake", at_mono_ms: 2000 }]);
  runner.feed({ type: "tick" });
  runner.stop();
  appends[0]?.done();
  sends[0]?.done(answer);
  await settle();
  runner.feed({ type: "code", text: "A", method: "qr" });
  expect(engine.types).toEqual(["tick"]);
  expect(sends[0]?.signal.aborted).toBe(true);
  expect(timers.every((timer) => timer.dead)).toBe(true);
});

test("an input the engine cannot read is reported, and the next one still works", () => {
  const handle = engine.handle.bind(engine);
  engine.handle = () => {
    throw new Error("count: must be a number");
  };
  runner.feed({ type: "tick" });
  engine.handle = handle;
  runner.feed({ type: "online" });
  expect(log).toEqual(["broken tick: count: must be a number"]);
  expect(engine.types).toEqual(["online"]);
});

test("while the server is asked about a code the next one waits; the verdict keeps its cause whatever ended the wait", async () => {
  const ask = (n: number): Effect => ({ ...(request(n) as SendEffect), path: "/api/scans", urgent: true });
  const cause = { text: "A", readAt: 1 };
  engine.script.set("code", [append(1)]);
  engine.script.set("appended", [ask(1)]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, cause);
  appends[0]?.done();
  await settle();
  expect(log).toEqual(["append 1", "send 1"]);
  runner.feed({ type: "code", text: "B", method: "qr" }, undefined, { text: "B", readAt: 2 });
  expect(engine.types).toEqual(["code", "appended"]);
  // The engine's own deadline ends the wait, not an answer. It writes the final and then shows the verdict.
  engine.script.set("tick", [append(2)]);
  engine.script.set("appended", [{ type: "show", verdict }]);
  runner.feed({ type: "tick" });
  await settle();
  expect(shown).toEqual([]);
  appends[1]?.done();
  await settle();
  expect(shown).toEqual([{ verdict, cause }]);
  expect(engine.types).toEqual(["code", "appended", "tick", "appended", "code"]);
});

test("a claim whose way to the server was lost while it was written keeps its cause: the final follows at once", async () => {
  const cause = { text: "a", readAt: 5 };
  engine.script.set("code", [append(1)]);
  runner.feed({ type: "code", text: "a", method: "qr" }, undefined, cause);
  engine.script.set("appended", [append(2)]);
  appends[0]!.done();
  await settle();
  engine.script.set("appended", [{ type: "show", verdict }]);
  appends[1]!.done();
  await settle();
  expect(shown).toEqual([{ verdict, cause }]);
});

test("a refusal ends the wait for the server too", async () => {
  engine.script.set("code", [{ ...(request(1) as SendEffect), urgent: true }]);
  runner.feed({ type: "code", text: "A", method: "qr" }, undefined, { text: "A", readAt: 1 });
  await settle();
  engine.script.set("response", [{ type: "refused", code: "no_list", message: "revoked" }]);
  runner.feed({ type: "code", text: "B", method: "qr" }, undefined, { text: "B", readAt: 2 });
  sends[0]?.done(answer);
  await settle();
  expect(engine.types).toEqual(["code", "response", "code"]);
});

test("what holds names is sealed, and what a search found is handed on", async () => {
  engine.script.set("tick", [
    { type: "save", key: "names:e", text: "t", sealed: true },
    { type: "found", text: "ame", guests: [], more: false },
  ]);
  runner.feed({ type: "tick" });
  await settle();
  expect(log).toEqual(["seal names:e t", "found ame 0"]);
});
