import init, { ScannerEngine } from "./generated/admit_wasm.js";
import wasmUrl from "./generated/admit_wasm_bg.wasm?url";

/** Loads the core once; afterwards `new ScannerEngine()` works. The file is ours, kept by the service worker. */
export async function loadCore(): Promise<typeof ScannerEngine> {
  await init({ module_or_path: wasmUrl });
  return ScannerEngine;
}
