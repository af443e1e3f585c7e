import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether the tests run as root. Then some servers run as another user. Postfix runs only then. */
export const isRoot = process.getuid?.() === 0;

/**
 * Another program's server for a test, such as Postfix: a shell command that starts it, and one that ends it. Its folder is deleted
 * at the end, even if the test's process is killed: a shell waits for the end of its input, and then cleans up.
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
      // It has a process group of its own. So Ctrl-C ends only the test, which closes the shell's input.
      detached: true,
      ...(user && isRoot ? { uid: user.uid, gid: user.gid } : {}),
    });
    this.#ended = new Promise((done) => this.#shell.once("exit", () => done()));
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on("data", (data: Buffer) => this.#said.push(data.toString()));
    }
  }

  /** The server's output, for people who read a failed test. */
  get log(): string {
    return this.#said.join("");
  }

  async end(): Promise<void> {
    this.#shell.stdin?.end();
    await this.#ended;
  }
}

/** A user of this machine, by numeric ids. */
export interface User {
  uid: number;
  gid: number;
}

/** Makes a folder that other users can read. Its path is short enough for sockets in it. It belongs to `owner`. */
export function sharedFolder(name: string, owner?: User): string {
  const folder = mkdtempSync(join(tmpdir(), `admit-${name}-`));
  chmodSync(folder, 0o755);
  if (owner && isRoot) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Whether a server at this port sends something by itself, as a mail server does to each client. */
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
    // A server that accepts and sends nothing is not ready. The caller tries again on another connection.
    socket.setTimeout(2_000, () => over(false));
  });
}
