import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether this is root, as whom some servers run as another user, and Postfix alone runs at all. */
export const isRoot = process.getuid?.() === 0;

/**
 * A server of somebody else's beside a test: a line of shell that starts it, and one that ends it. Its folder is gone with
 * it, also when the test's process is killed: the shell between waits for its input to end.
 */
export class Beside {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #said: string[] = [];

  constructor(start: string, end: string, folder: string, user?: User) {
    const line = `${start} & started=$!; cat >/dev/null; ${end}; wait $started; rm -rf ${folder}`;
    this.#shell = spawn("sh", ["-c", line], {
      cwd: folder,
      stdio: ["pipe", "pipe", "pipe"],
      // A group of its own: Ctrl-C ends the test, and with it our end of the input.
      detached: true,
      ...(user && isRoot ? { uid: user.uid, gid: user.gid } : {}),
    });
    this.#ended = new Promise((done) => this.#shell.once("exit", () => done()));
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on("data", (data: Buffer) => this.#said.push(data.toString()));
    }
  }

  /** What it said, for the eyes of whoever reads a failed test. */
  get log(): string {
    return this.#said.join("");
  }

  async end(): Promise<void> {
    this.#shell.stdin?.end();
    await this.#ended;
  }
}

/** A user of this machine, by number. */
export interface User {
  uid: number;
  gid: number;
}

/** A fresh folder that other users may look into, with a path short enough for the sockets in it. It belongs to `owner`. */
export function sharedFolder(name: string, owner?: User): string {
  const folder = mkdtempSync(join(tmpdir(), `admit-${name}-`));
  chmodSync(folder, 0o755);
  if (owner && isRoot) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Somebody at this port says something of their own accord, as a mail server does to whoever comes. */
export function greets(port: number): Promise<boolean> {
  return new Promise((said) => {
    const socket = connect(port, "127.0.0.1");
    const over = (greeted: boolean) => {
      socket.destroy();
      said(greeted);
    };
    socket.once("data", () => over(true));
    socket.once("end", () => over(false));
    socket.once("error", () => over(false));
    // One that is up and says nothing has not begun: look again, on another connection.
    socket.setTimeout(2_000, () => over(false));
  });
}
