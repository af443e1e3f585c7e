import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { freshFolder } from "./places.ts";
import { until } from "./wait.ts";

const run = promisify(execFile);

/**
 * A disk whose power can be cut: an image with a file system in it, mounted as root. What the system holds in memory and
 * was not told to flush is not in the image.
 */
export class Disk {
  /** Where it is mounted, always the same place. */
  readonly at: string;
  readonly #folder: string;
  #image: string;
  #copies = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#image = join(folder, "disk-0.img");
    this.at = join(folder, "mounted");
  }

  /** `null`, said aloud, where nothing may be mounted: then the test shows nothing. */
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

  /** All that was written so far is on it. */
  async flush(): Promise<void> {
    await run("sync", ["-f", this.at]);
  }

  /** The disk as it would be if the power went now; whoever writes to it stands still meanwhile. */
  async copy(): Promise<string> {
    const copy = join(this.#folder, `disk-${(this.#copies += 1)}.img`);
    await run("cp", ["--sparse=always", this.#image, copy]);
    return copy;
  }

  /** From now on the disk is this copy. Nobody has a file open on it. */
  async become(copy: string): Promise<void> {
    await this.#unmount();
    rmSync(this.#image);
    this.#image = copy;
    await this.#mount();
  }

  /** Also where somebody still uses it: whatever went wrong is told by who asked, not by what is left. */
  async end(): Promise<void> {
    await this.#unmount().catch(() => run("umount", ["-l", this.at]));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #mount(): Promise<void> {
    await run("mount", ["-o", "loop", this.#image, this.at]);
  }

  /** The last of a killed browser's processes may take a moment to go. */
  async #unmount(): Promise<void> {
    await until("nobody to use the disk", () => run("umount", [this.at]).then(() => true));
  }
}
