import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { filesUnder } from "./files.ts";

const TEXT = /\.(html|js|css|svg|json|webmanifest|txt|wasm)$/;
/** Smaller files are not compressed, in bytes. For them the headers cost more than compression saves. */
const SMALLEST = 512;

/** Puts a `.br` and a `.gz` beside every asset that shrinks, so that the server never compresses a file twice. */
export function precompress(): Plugin {
  let outDir = "";
  let written = false;
  return {
    name: "admit-precompress",
    apply: "build",
    configResolved(config) {
      outDir = join(config.root, config.build.outDir);
    },
    writeBundle() {
      written = true;
    },
    closeBundle: {
      order: "post",
      sequential: true,
      handler() {
        // The hook also runs after a failed build, which has no files. The build then reports its own error.
        if (!written) return;
        for (const file of filesUnder(outDir)) {
          const path = join(outDir, file);
          if (!TEXT.test(file) || statSync(path).size < SMALLEST) continue;
          const bytes = readFileSync(path);
          const br = brotliCompressSync(bytes, {
            params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
          });
          const gz = gzipSync(bytes, { level: 9 });
          if (br.length < bytes.length) writeFileSync(`${path}.br`, br);
          if (gz.length < bytes.length) writeFileSync(`${path}.gz`, gz);
        }
      },
    },
  };
}
