import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** The part of a built script that this module uses. */
export interface Script {
  isEntry: boolean;
  imports: string[];
}

/** The scripts that a page fetches before it shows anything: its entry, and all that it imports statically. */
export function firstRoute(scripts: Readonly<Record<string, Script>>): string[] {
  const found = new Set<string>();
  const take = (name: string): void => {
    const script = scripts[name];
    if (!script || found.has(name)) return;
    found.add(name);
    script.imports.forEach(take);
  };
  for (const [name, script] of Object.entries(scripts)) if (script.isEntry) take(name);
  return [...found];
}

/**
 * Fails a build whose first route has more JavaScript than `most` gzipped bytes. `pages` are the beginnings of names of files that
 * are fetched just after it. The largest of these counts too.
 */
export function budget(most: number, pages: readonly string[] = []): Plugin {
  let outDir = "";
  return {
    name: "admit-budget",
    apply: "build",
    configResolved(config) {
      outDir = join(config.root, config.build.outDir);
    },
    writeBundle(_, bundle) {
      const scripts: Record<string, Script> = {};
      for (const [name, part] of Object.entries(bundle)) if (part.type === "chunk") scripts[name] = { isEntry: part.isEntry, imports: part.imports };
      const size = (names: readonly string[]): number => names.reduce((sum, name) => sum + gzipSync(readFileSync(join(outDir, name)), { level: 9 }).length, 0);
      const first = firstRoute(scripts);
      const withPage = Object.keys(scripts)
        .filter((name) => pages.some((page) => name.includes(`/${page}-`)))
        .map((name) => size([...new Set([...first, ...firstRoute({ ...scripts, [name]: { isEntry: true, imports: scripts[name]?.imports ?? [] } })])]));
      const heaviest = Math.max(size(first), ...withPage);
      if (heaviest > most) this.error(`the first route has ${heaviest} gzipped bytes of JavaScript, ${heaviest - most} more than its budget: import what it does not need at once by import()`);
      this.info(`first route: ${(size(first) / 1e3).toFixed(1)} kB gz of JavaScript, with its page ${(heaviest / 1e3).toFixed(1)} of ${(most / 1e3).toFixed(0)}`);
    },
  };
}
