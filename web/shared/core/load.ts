import init, { ScannerEngine } from "./generated/admit_wasm.js";
import wasmUrl from "./generated/admit_wasm_bg.wasm?url";

/** Loads the core. After that `new ScannerEngine()` works. The WASM file belongs to the app, and the service worker keeps it. */
export async function loadCore(): Promise<typeof ScannerEngine> {
  await init({ module_or_path: wasmUrl });
  return ScannerEngine;
}
