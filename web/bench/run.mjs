// Node's own door to the measurements: the rest is TypeScript, which Vite reads.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const [what, asked, answered] = process.argv.slice(2);
const main = fileURLToPath(new URL("main.ts", import.meta.url));
const { module } = await runnerImport(main, { configFile: false, logLevel: "warn" });
await module.main(what, asked, answered);
