// Node's own door to the pictures: the rest is TypeScript, which Vite reads.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const { module } = await runnerImport(fileURLToPath(new URL("pictures.ts", import.meta.url)), { configFile: false, logLevel: "warn" });
await module.main();
