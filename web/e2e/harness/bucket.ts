import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { admitBinary } from "./admit.ts";

/** An S3 server: the library s3s on a folder. It checks keys, and none of it is Admit's own code (`crates/server/examples/bucket.rs`). */
export class Bucket {
  /** What `OBJECTS_URL` says of it. */
  readonly url: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, told: { url: string; folder: string }) {
    this.#process = process;
    this.url = told.url;
    this.#folder = told.folder;
  }

  static async start(): Promise<Bucket> {
    const path = join(dirname(admitBinary()), "examples/bucket");
    if (!existsSync(path)) {
      throw new Error(`there is no ${path}: \`cargo build --release -p admit-server --example bucket\` makes it beside the release`);
    }
    // The server ends when its input closes, so also when the test's process ends.
    const child = spawn(path, [], { stdio: ["pipe", "pipe", "inherit"] });
    const told = new Promise<string>((said, failed) => {
      createInterface({ input: child.stdout }).once("line", said);
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`the S3 server ended with ${code}`)));
    });
    return new Bucket(child, JSON.parse(await told) as { url: string; folder: string });
  }

  /** The bytes of an object, as the server keeps them. */
  object(name: string): Buffer {
    return readFileSync(join(this.#folder, name));
  }

  async end(): Promise<void> {
    const gone = new Promise<void>((done) => this.#process.once("exit", () => done()));
    this.#process.stdin?.end();
    await gone;
  }
}
