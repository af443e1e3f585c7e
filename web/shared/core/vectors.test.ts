import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

// Law 14: the core computes the same natively and as WASM. The test needs a build with the crate's feature `vectors`, which no
// release has. Without such a build the test is skipped, and its name says so.
const folder = new URL(process.env.ADMIT_VECTORS_WASM ?? "./generated-vectors/", import.meta.url);
const wasm = new URL("admit_wasm_bg.wasm", folder);
const built = existsSync(wasm);

interface Door {
  initSync(options: { module: BufferSource }): unknown;
  ScannerEngine: { runVectors(name: string, json: string): string };
}

const FILES = ["barcodes", "names", "hashes", "signatures", "webhooks", "manifests", "verdicts", "reductions", "blocks"];

describe.skipIf(!built)(built ? "vectors through WASM" : "vectors through WASM: not built with the feature `vectors`", () => {
  test.each(FILES)("%s.json", async (name) => {
    const door = (await import(/* @vite-ignore */ new URL("admit_wasm.js", folder).href)) as Door;
    door.initSync({ module: readFileSync(wasm) });
    const text = readFileSync(new URL(`../../../vectors/${name}.json`, import.meta.url), "utf8");
    expect(Number(door.ScannerEngine.runVectors(name, text))).toBeGreaterThan(0);
    const altered = text.replace(/"out":\s*(?=\S)/, '"out":null,"was":');
    expect(() => door.ScannerEngine.runVectors(name, altered)).toThrow(/expected/);
  });
});
