import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** Every file under `folder`, as sorted paths with forward slashes, so that two builds agree. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}
