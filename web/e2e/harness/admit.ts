import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freshFolder, root } from "./places.ts";
import { until } from "./wait.ts";

/** The one line that `admit demo --json` prints. */
export interface DemoLine {
  url: string;
  email: string;
  password: string;
  api_token: string;
  organization_id: string;
  event_id: string;
  gates: string[];
  sample_barcodes: string[];
}

export interface AdmitOptions {
  /** `demo` fills an event and prints a line about it; `serve` begins empty. */
  command?: "demo" | "serve";
  /** A fresh folder if absent. */
  dataDir?: string;
  /** The port of the server; a free one if absent. It stays the same over restarts. */
  port?: number;
  /** More settings. */
  env?: Record<string, string>;
  /** The program and its first arguments. The harness's own test names a replacement here. */
  program?: readonly string[];
  /** The time limit for the server's start, in milliseconds. */
  within?: number;
}

export function admitBinary(): string {
  const path = process.env["ADMIT_BIN"] ?? join(root, "target/release/admit");
  if (!existsSync(path)) throw new Error(`there is no ${path}: \`cargo xtask build\` makes it, ADMIT_BIN names another`);
  return path;
}

/** A server: the real program. Its data folder and its port stay the same when the process ends and starts again. */
export class Admit {
  readonly dataDir: string;
  readonly url: string;
  #port: number;
  #options: AdmitOptions;
  #process: ChildProcess | undefined;
  #demo: DemoLine | undefined;
  #said: string[] = [];

  private constructor(options: AdmitOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.dataDir = options.dataDir ?? freshFolder("data");
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Starts the server, and waits until it says that it is ready. */
  static async start(options: AdmitOptions = {}): Promise<Admit> {
    const admit = new Admit(options, options.port ?? (await freePort()));
    await admit.restart();
    return admit;
  }

  /** The line that the demo printed at its last start. */
  get demo(): DemoLine {
    if (!this.#demo) throw new Error(`it printed no line of JSON:\n${this.log}`);
    return this.#demo;
  }

  /** The server's log, for people who read a failed test. */
  get log(): string {
    return this.#said.join("\n");
  }

  get running(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Starts the server again on the same port and folder. */
  async restart(): Promise<void> {
    if (this.running) throw new Error("it is still running");
    const { command = "demo", env = {}, within = 60_000 } = this.#options;
    const [program = "", ...first] = this.#options.program ?? [admitBinary()];
    const demo = command === "demo";
    // The demo gets flags and the server gets environment variables, as for people.
    const flags = demo ? ["--json", "--port", String(this.#port), "--data-dir", this.dataDir] : [];
    const settings = demo ? {} : { ADMIT_DATA_DIR: this.dataDir, ADMIT_LISTEN: `127.0.0.1:${this.#port}` };
    const child = spawn(program, [...first, command, ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...settings, ...env },
    });
    this.#process = child;
    this.#demo = undefined;
    let failure: Error | undefined;
    child.once("error", (error) => (failure = error));
    if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => this.#heard(line));
    if (child.stderr) createInterface({ input: child.stderr }).on("line", (line) => this.#heard(line));
    const ended = new Promise<never>((_, failed) => {
      child.once("exit", (code, signal) =>
        failed(failure ?? new Error(`the server ended with ${code ?? signal} before it was ready:\n${this.log}`)),
      );
      child.once("error", failed);
    });
    const ready = until(
      `the server at ${this.url}`,
      async () => (await fetch(`${this.url}/readyz`)).ok && (!demo || this.#demo !== undefined),
      { within },
    );
    ended.catch(() => {});
    ready.catch(() => {});
    try {
      await Promise.race([ready, ended]);
    } catch (error) {
      await this.kill("SIGKILL");
      throw error;
    }
  }

  /** Ends the process, and waits until it is gone. `SIGKILL` is like a power cut; `SIGTERM` lets it finish its work. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (!child || !this.running) return;
    const gone = new Promise<void>((done) => child.once("exit", () => done()));
    child.kill(signal);
    await gone;
  }

  #heard(line: string): void {
    this.#said.push(line);
    if (this.#said.length > 500) this.#said.shift();
    if (!this.#demo && line.startsWith("{") && line.includes('"api_token"')) {
      this.#demo = JSON.parse(line) as DemoLine;
    }
  }
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer();
    probe.once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? found(address.port) : failed(new Error("no port was given")),
      );
    });
  });
}
