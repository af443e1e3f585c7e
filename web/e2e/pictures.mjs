// The start of the program that takes the pictures, in Node. It lets Vite load the rest, which is TypeScript.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const { module } = await runnerImport(fileURLToPath(new URL("pictures.ts", import.meta.url)), { configFile: false, logLevel: "warn" });
await module.main();
