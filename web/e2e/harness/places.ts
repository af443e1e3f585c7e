import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Where tests may leave things: pictures, profiles, data. */
const target = join(root, "target");

/** A fresh folder for one test. */
export function freshFolder(name: string): string {
  const parent = join(target, "e2e");
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, `${name}-`));
}

/** A folder whose content the next run overwrites. */
export function folder(name: string): string {
  const path = join(target, name);
  mkdirSync(path, { recursive: true });
  return path;
}
