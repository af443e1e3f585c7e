import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { canvasCamera } from "./camera.ts";
import { freshFolder } from "./places.ts";
import { until } from "./wait.ts";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--no-default-browser-check",
  "--hide-scrollbars",
  "--remote-debugging-port=0",
];

export interface PhoneOptions {
  /** A name for the phone. It is a part of its folder's name and of errors. */
  name?: string;
  /** A film from `film()` as the camera. Without one the phone has the canvas camera of `show()`. */
  film?: string;
  /** `"none"`: there is no camera. `"denied"`: the person said no. */
  camera?: "none" | "denied";
  /** In CSS pixels. */
  size?: { width: number; height: number };
  /** The number of device pixels in a CSS pixel. */
  scale?: number;
  /** The phone's time zone, such as `Asia/Tokyo`. Absent: the machine's. */
  zone?: string;
  /** More flags for the browser. */
  flags?: readonly string[];
  /** The phone's folder. Absent: a new one. */
  profile?: string;
}

function chromiumPath(): string {
  const path = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(path)) throw new Error(`there is no ${path}: \`cargo xtask setup\` installs it, CHROMIUM names another`);
  return path;
}

/**
 * A browser as a phone: it has a process and a folder of its own. A test can kill it at any moment and open it again. It then finds
 * only what it had really written to its folder.
 */
export class Phone {
  readonly profile: string;
  #options: PhoneOptions;
  #process: ChildProcess | undefined;
  /** The browser's temporary folder, which a killed browser would not delete. */
  #left: string | undefined;
  #browser: Browser | undefined;
  #context: BrowserContext | undefined;
  #errors: string[] = [];

  private constructor(options: PhoneOptions) {
    this.#options = options;
    this.profile = options.profile ?? freshFolder(options.name ?? "phone");
  }

  static async open(options: PhoneOptions = {}): Promise<Phone> {
    const phone = new Phone(options);
    await phone.reopen();
    return phone;
  }

  /** Starts the browser. After `kill` or `close` it starts again on the same folder. */
  async reopen(): Promise<void> {
    const { width, height } = this.#size();
    const camera = this.#cameraFlags();
    const flags = [...FLAGS, ...camera, `--user-data-dir=${this.profile}`, `--window-size=${width},${height}`];
    if (this.#options.scale) flags.push(`--force-device-scale-factor=${this.#options.scale}`);
    // This folder is not in the profile, because the path of a socket in it must be short.
    this.#left = mkdtempSync(join(tmpdir(), "admit-phone-"));
    const child = spawn(chromiumPath(), [...flags, ...(this.#options.flags ?? []), "about:blank"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, TMPDIR: this.#left, ...(this.#options.zone ? { TZ: this.#options.zone } : {}) },
      // The browser has a process group of its own, so that killing the phone also ends its renderers.
      detached: true,
    });
    this.#process = child;
    try {
      this.#browser = await chromium.connectOverCDP(await listening(child));
    } catch (error) {
      await this.#end("SIGKILL");
      throw error;
    }
    const context = this.#browser.contexts()[0];
    if (!context) throw new Error("the browser opened without a context");
    this.#context = context;
    context.setDefaultTimeout(20_000);
    if (!this.#options.film && !this.#options.camera) await canvasCamera(context);
    context.on("weberror", (error) => this.#errors.push(String(error.error())));
  }

  get context(): BrowserContext {
    if (!this.#context) throw new Error("the phone is off: open it first");
    return this.#context;
  }

  /** Errors that no page caught. A test with such an error fails. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  /** A tab at an address. */
  async visit(url: string): Promise<Page> {
    if (this.#options.camera !== "denied") {
      await this.context.grantPermissions(["camera"], { origin: new URL(url).origin });
    }
    const page = await this.context.newPage();
    await page.setViewportSize(this.#size());
    await page.goto(url);
    return page;
  }

  /** Kills the browser, as if the battery fell out. Pages get no event, and nothing is flushed. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Stops all processes of the browser until it is killed. */
  async freeze(): Promise<void> {
    const group = this.#process?.pid;
    if (group === undefined) throw new Error("the phone is off: open it first");
    this.#signal("SIGSTOP");
    await until("the browser to stand still", () => running(group) === 0, { every: 1 });
  }

  /** Switched off in peace. */
  async close(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child) return;
    this.#process = undefined;
    const gone = child.exitCode !== null || child.signalCode !== null ? undefined : exited(child);
    this.#signal(signal, child);
    await gone;
    // The renderers of a killed browser end by themselves. Killing the group ends them before the folder is used again.
    this.#signal("SIGKILL", child);
    await this.#browser?.close().catch(() => {});
    this.#browser = undefined;
    this.#context = undefined;
    // Processes that are ending may still write here, so deleting is tried several times.
    if (this.#left) rmSync(this.#left, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    this.#left = undefined;
  }

  #signal(signal: NodeJS.Signals, child = this.#process): void {
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group is gone already, which is the aim.
    }
  }

  #size(): { width: number; height: number } {
    return this.#options.size ?? { width: 390, height: 780 };
  }

  #cameraFlags(): string[] {
    if (this.#options.film) {
      return [
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        `--use-file-for-fake-video-capture=${this.#options.film}`,
      ];
    }
    if (this.#options.camera === "denied") {
      return ["--use-fake-ui-for-media-stream=deny", "--use-fake-device-for-media-stream"];
    }
    return ["--use-fake-ui-for-media-stream"];
  }
}

/** The address of the browser's remote control, which the browser prints in its first lines. */
function listening(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    const said: string[] = [];
    child.once("error", failed);
    child.once("exit", (code) => failed(new Error(`the browser ended with ${code}:\n${said.join("\n")}`)));
    if (!child.stderr) return failed(new Error("the browser's messages were not piped"));
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      if (said.length > 50) said.shift();
      const address = /^DevTools listening on (ws:.*)$/.exec(line)?.[1];
      if (address) found(address);
    });
  });
}

/** The number of threads of a process group that are not stopped. */
function running(group: number): number {
  // The name in brackets is cut off, since it may contain any character. State, parent and group follow it.
  const said = (path: string) => readFileSync(path, "utf8").replace(/^.*\) /s, "").split(" ");
  let count = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (Number(said(`/proc/${pid}/stat`)[2]) !== group) continue;
      for (const task of readdirSync(`/proc/${pid}/task`)) {
        if (!/^[TZX]$/.test(said(`/proc/${pid}/task/${task}/stat`)[0] ?? "")) count += 1;
      }
    } catch {
      // The process ended while this function read about it.
    }
  }
  return count;
}

function exited(child: ChildProcess): Promise<void> {
  return new Promise((done) => child.once("exit", () => done()));
}
