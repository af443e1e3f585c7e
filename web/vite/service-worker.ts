import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "vite";
import { filesUnder } from "./files.ts";

/**
 * Builds `src/sw.ts` to `sw.js` at the app's root, without a hash in its name. It does so after all other files are on the disk,
 * because the service worker keeps these files. The source declares two constants:
 *
 *     declare const __PRECACHE__: readonly string[];  // paths under the base, the app's own "" first
 *     declare const __BUILD_ID__: string;             // changes whenever any file or the worker itself does
 *
 * Files whose path `leave` matches are not kept: the app starts and scans without them.
 *
 * Each build id has a cache of its own. So a page never gets workers or WASM of another build.
 */
export function serviceWorker({ leave = /$^/ }: { leave?: RegExp } = {}): Plugin {
  let root = "";
  let outDir = "";
  let written = false;
  return {
    name: "admit-service-worker",
    apply: "build",
    configResolved(config) {
      root = config.root;
      outDir = join(config.root, config.build.outDir);
    },
    writeBundle() {
      written = true;
    },
    closeBundle: {
      order: "pre",
      sequential: true,
      async handler() {
        // The hook also runs after a failed build, which has no files. The build then reports its own error.
        if (!written) return;
        const source = join(root, "src/sw.ts");
        if (!existsSync(source)) {
          this.warn("src/sw.ts is missing: this build does not start without a network");
          return;
        }
        const files = filesUnder(outDir).filter((file) => file !== "sw.js" && !/\.(br|gz|map)$/.test(file));
        const code = await compile(root, source);
        const hash = createHash("sha256").update(code);
        for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(outDir, file)));
        const id = hash.digest("hex").slice(0, 16);
        // The start page is stored under the address that people open, not under its file name.
        const kept = files.filter((file) => !leave.test(file));
        const paths = kept.map((file) => (file === "index.html" ? "" : file)).sort();
        writeFileSync(join(outDir, "sw.js"), fill(code, paths, id));
      },
    },
  };
}

async function compile(root: string, source: string): Promise<string> {
  const result = await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: "warn",
    build: {
      write: false,
      target: "es2022",
      lib: { entry: source, formats: ["iife"], name: "sw", fileName: () => "sw.js" },
    },
  });
  const outputs = Array.isArray(result) ? result : [result];
  for (const output of outputs) {
    if (!("output" in output)) continue;
    for (const chunk of output.output) if (chunk.type === "chunk" && chunk.isEntry) return chunk.code;
  }
  throw new Error("the service worker produced no code");
}

/** Replaces the constants after compiling, as text, because the id is a hash of the compiled code. */
export function fill(code: string, paths: readonly string[], id: string): string {
  if (!code.includes("__PRECACHE__") || !code.includes("__BUILD_ID__")) {
    throw new Error("src/sw.ts must use __PRECACHE__ and __BUILD_ID__: without them it cannot keep a build together");
  }
  return code
    .replaceAll("__PRECACHE__", () => JSON.stringify(paths))
    .replaceAll("__BUILD_ID__", () => JSON.stringify(id));
}
