import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The folder for files of tests: pictures, profiles, data. */
const target = join(root, "target");

/** A fresh folder for one test. */
export function freshFolder(name: string): string {
  const parent = join(target, "e2e");
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, `${name}-`));
}

/** Makes an empty folder there. The next run overwrites its content. */
export function folder(name: string): string {
  const path = join(target, name);
  mkdirSync(path, { recursive: true });
  return path;
}
