import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { budget } from "../vite/budget.ts";
import { precompress } from "../vite/precompress.ts";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  // 160 kB is the bar of the design for what a laptop fetches before the app shows.
  plugins: [svelte({ configFile: false, compilerOptions: { runes: true } }), budget(160_000, ["Overview", "LiveView", "Guests", "Review", "Devices"]), precompress()],
  worker: { format: "es" },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // The server's content policy allows no data: scripts, and a file of its own can be compressed and kept.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:8080" } },
});
