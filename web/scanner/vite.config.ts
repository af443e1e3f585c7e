import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { precompress } from "../vite/precompress.ts";
import { serviceWorker } from "../vite/service-worker.ts";

// The scanner lives under /scan/: its service worker must not reach the organiser's pages.
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/scan/",
  // The system keeps the icons of an installed app by itself; 18 kB less have to arrive before the app starts without a network.
  plugins: [svelte({ configFile: false, compilerOptions: { runes: true } }), serviceWorker({ leave: /\.png$/ }), precompress()],
  worker: { format: "es" },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // The server's content policy allows no data: scripts, and a file of its own can be compressed and kept.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // A text of the catalogue stands where it is used, without the name it has there: a phone loads the text alone.
    rolldownOptions: { optimization: { inlineConst: true } },
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:8080" } },
});
