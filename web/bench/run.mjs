// The start of the measurements in Node. It lets Vite load the rest, which is TypeScript.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const [what, asked, answered] = process.argv.slice(2);
const main = fileURLToPath(new URL("main.ts", import.meta.url));
const { module } = await runnerImport(main, { configFile: false, logLevel: "warn" });
await module.main(what, asked, answered);
