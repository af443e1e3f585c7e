import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { freshFolder } from "./places.ts";
import { until } from "./wait.ts";

const run = promisify(execFile);

/**
 * A disk whose power a test can cut. It is an image with a file system, mounted as root. Data that the system still has in memory
 * and has not flushed is not in the image.
 */
export class Disk {
  /** The path where the disk is mounted. It stays the same. */
  readonly at: string;
  readonly #folder: string;
  #image: string;
  #copies = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#image = join(folder, "disk-0.img");
    this.at = join(folder, "mounted");
  }

  /** Makes a disk. Gives `null` and prints a warning if nothing can be mounted here. The test then proves nothing. */
  static async make(name: string, megabytes: number): Promise<Disk | null> {
    const disk = new Disk(freshFolder(name));
    await run("mkdir", [disk.at]);
    await run("truncate", ["-s", `${megabytes}M`, disk.#image]);
    await run("mkfs.ext4", ["-q", "-F", disk.#image]);
    try {
      await disk.#mount();
    } catch (error) {
      process.stderr.write(`SKIPPED, nothing is shown: no disk may be mounted here: ${String(error)}\n`);
      rmSync(disk.#folder, { recursive: true, force: true });
      return null;
    }
    return disk;
  }

  /** Flushes all writes so far to the disk. */
  async flush(): Promise<void> {
    await run("sync", ["-f", this.at]);
  }

  /** Copies the disk as it would be after a power cut now. The caller stops all processes that write to it. */
  async copy(): Promise<string> {
    const copy = join(this.#folder, `disk-${(this.#copies += 1)}.img`);
    await run("cp", ["--sparse=always", this.#image, copy]);
    return copy;
  }

  /** Replaces the disk by this copy. No process may have a file open on it. */
  async become(copy: string): Promise<void> {
    await this.#unmount();
    rmSync(this.#image);
    this.#image = copy;
    await this.#mount();
  }

  /** Unmounts and removes the disk, even if it is still in use. Errors here are ignored, so that the test's own failure is reported. */
  async end(): Promise<void> {
    await this.#unmount().catch(() => run("umount", ["-l", this.at]));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #mount(): Promise<void> {
    await run("mount", ["-o", "loop", this.#image, this.at]);
  }

  /** Unmounts the disk. It tries for a moment, because a killed browser's last processes may still use it. */
  async #unmount(): Promise<void> {
    await until("nobody to use the disk", () => run("umount", [this.at]).then(() => true));
  }
}
