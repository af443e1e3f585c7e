/**
 * Runs the real engine without a worker, a network or a journal. Appends succeed at once, and the server's answers are prepared.
 * Only `handle` is timed.
 */
import type { Effect, EngineDoor, Input, View } from "../../shared/core/engine.ts";
import { loadCore } from "../../shared/core/load.ts";
import { columns, find, hash } from "./bare.ts";

export interface GivenList {
  tickets: number;
  signature: string;
  version: number;
  epoch: string;
  texts: string[];
  paired: Record<string, string>;
}

/** Microseconds a code, one value for each round. */
export interface Times {
  decide_us: number[];
  record_us: number[];
  bare_us: number[];
}

const RANDOM = Array.from({ length: 32 }, (_, i) => i * 7);

interface Answer {
  body: Uint8Array;
  headers: [string, string][];
}

class Driver {
  #mono = 1_000;
  #online = true;
  view: View | null = null;

  constructor(
    private readonly engine: EngineDoor,
    private readonly wall: number,
    private readonly answers: (path: string, asked: string | null) => Promise<Answer | null>,
  ) {}

  now(): string {
    this.#mono += 1;
    // The engine makes scan ids of these numbers, so they must differ each time.
    const random = RANDOM.map((byte, i) => (i < 4 ? (this.#mono >>> (i * 8)) & 255 : byte));
    return JSON.stringify({ wall_ms: this.wall + this.#mono, mono_ms: this.#mono, random });
  }

  /** Ends all answers, and lets so much time pass that the engine considers itself offline and asks no server before it decides. */
  goOffline(): void {
    this.#online = false;
    this.#mono += 60_000;
  }

  /** Gives an input to the engine, and then the inputs that follow from its effects, in their order. */
  async feed(input: Input, body?: Uint8Array): Promise<void> {
    await this.settle(this.engine.handle(JSON.stringify(input), body, this.now()));
  }

  /** Carries out effects, and the effects of the inputs that follow from them. */
  async settle(effects: string): Promise<void> {
    const open = JSON.parse(effects) as Effect[];
    for (const effect of open) {
      if (effect.type === "view") this.view = effect.view;
      const back = await this.#bringBack(effect);
      if (back === null) continue;
      const more = this.engine.handle(JSON.stringify(back.input), back.body, this.now());
      open.push(...(JSON.parse(more) as Effect[]));
    }
  }

  async #bringBack(effect: Effect): Promise<{ input: Input; body?: Uint8Array } | null> {
    if (effect.type === "append") return { input: { type: "appended", append: effect.append } };
    if (effect.type !== "send" || !this.#online) return null;
    const sent_mono_ms = this.#mono;
    const answer = await this.answers(effect.path, effect.body);
    if (answer === null) return null;
    const { headers, body } = answer;
    return { input: { type: "response", request: effect.request, status: 200, headers, sent_mono_ms }, body };
  }
}

async function paired(given: GivenList, wall: number): Promise<[Driver, EngineDoor]> {
  const ScannerEngine = await loadCore();
  const engine = new ScannerEngine();
  const bytes = (value: object) => new TextEncoder().encode(JSON.stringify(value));
  const driver = new Driver(engine, wall, async (path, asked) => {
    if (path.endsWith("/pair")) {
      const { device_id } = JSON.parse(asked ?? "{}") as { device_id: string };
      return { body: bytes({ ...given.paired, device_id }), headers: [] };
    }
    if (path.endsWith("/time")) {
      const time = { received_at_ms: wall, sent_at_ms: wall, server_time: new Date(wall).toISOString() };
      return { body: bytes(time), headers: [] };
    }
    if (!path.includes("/manifest")) return null;
    const body = new Uint8Array(await (await fetch(`/list/${given.tickets}`)).arrayBuffer());
    return { body, headers: [["x-signature", given.signature]] };
  });
  await driver.feed({ type: "start", session_id: "bench", rows: [], app_version: "bench", device_type: "phone" });
  await driver.feed({ type: "started" });
  await driver.feed({ type: "pair", code: "admit_pt_00000000000000000000000000000000", name: "Bench" });
  for (let step = 0; driver.view?.phase !== "ready" && step < 50; step += 1) await driver.feed({ type: "tick" });
  if (driver.view?.phase !== "ready") throw new Error(`the engine is ${driver.view?.phase}: ${driver.view?.message}`);
  driver.goOffline();
  return [driver, engine];
}

async function measure(given: GivenList, wall: number, rounds: number): Promise<Times> {
  const [driver, engine] = await paired(given, wall);
  const prefixes = columns(await (await fetch(`/prefixes/${given.tickets}`)).arrayBuffer());
  const times: Times = { decide_us: [], record_us: [], bare_us: [] };
  const wanted = new Uint32Array(4);
  const each = Math.floor(given.texts.length / (rounds + 1));
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const texts = given.texts.slice(round * each, (round + 1) * each);
    const record = await record_us(driver, engine, texts);
    const decide = decide_us(driver, engine, texts);
    const start = performance.now();
    let found = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      for (const text of texts) {
        hash(text, wanted);
        if (find(prefixes, wanted)) found += 1;
      }
    }
    const bare = ((performance.now() - start) * 1000) / (texts.length * 20);
    if (found !== texts.length * 20) throw new Error(`the bare search found ${found} of ${texts.length * 20}`);
    if (round === 0) continue;
    times.record_us.push(record);
    times.decide_us.push(decide);
    times.bare_us.push(bare);
  }
  return times;
}

const code = (text: string) => JSON.stringify({ type: "code", text, method: "qr" } satisfies Input);

/** Times first scans of codes: the engine decides, signs, and gives a row for the journal. */
async function record_us(driver: Driver, engine: EngineDoor, texts: readonly string[]): Promise<number> {
  let spent = 0;
  for (const text of texts) {
    const [input, now] = [code(text), driver.now()];
    const start = performance.now();
    const effects = engine.handle(input, undefined, now);
    spent += performance.now() - start;
    await driver.settle(effects);
  }
  return (spent * 1000) / texts.length;
}

/** Times repeated scans of the same codes: the engine decides and shows, and writes nothing. */
function decide_us(driver: Driver, engine: EngineDoor, texts: readonly string[]): number {
  const inputs = texts.map((text) => [code(text), driver.now()] as const);
  const shown: string[] = [];
  const start = performance.now();
  for (const [input, now] of inputs) shown.push(engine.handle(input, undefined, now));
  const spent = performance.now() - start;
  const decided = shown.filter((effects) => effects.includes('"show"')).length;
  if (decided !== texts.length) throw new Error(`${decided} of ${texts.length} were shown; first: ${shown[0]}`);
  return (spent * 1000) / texts.length;
}

Object.assign(window, { measure });
