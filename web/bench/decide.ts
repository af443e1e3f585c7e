/** Measures the engine's time for a code as WASM in Chromium. The raw limit is a bare SHA-256 with a binary search. */
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { build } from "vite";
import { folder, Phone, root } from "../e2e/harness/index.ts";
import { count, type Figure, median } from "./figure.ts";
import type { GivenList, Times } from "./page/decide.ts";

interface Given {
  lists: (GivenList & { file: string; prefixes: string })[];
  wall_ms: number;
}

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const TARGET_US = 20;

export async function decide({ lists, wall_ms }: Given, quick: boolean): Promise<Figure[]> {
  const outDir = folder("bench/page");
  await build({
    configFile: false,
    logLevel: "warn",
    root: join(root, "web/bench/page"),
    build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, target: "es2022" },
  });
  const server = await serve(outDir, lists);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const figures: Figure[] = [];
  try {
    for (const list of lists) {
      const phone = await Phone.open({ name: "bench-decide", camera: "none" });
      try {
        const page = await phone.visit(url);
        page.setDefaultTimeout(300_000);
        const { file: _file, prefixes: _prefixes, ...given } = list;
        const times = await page.evaluate(
          ({ given, wall_ms, rounds }) =>
            (window as unknown as { measure(given: GivenList, wall: number, rounds: number): Promise<Times> }).measure(
              given,
              wall_ms,
              rounds,
            ),
          { given, wall_ms, rounds: quick ? 2 : 7 },
        );
        figures.push(...figuresOf(times, list));
      } finally {
        await phone.close();
      }
    }
  } finally {
    server.close();
  }
  return figures;
}

function figuresOf(times: Times, list: GivenList): Figure[] {
  const codes = `${count(list.texts.length)} codes in random order, list of ${count(list.tickets)}`;
  const figure = (name: string, values: number[], at_most: number | null, input: string): Figure => ({
    name: `${name}, ${count(list.tickets)} tickets`,
    value: median(values),
    unit: "µs",
    limit: median(times.bare_us),
    at_most,
    input: `${input}; limit: bare SHA-256 and binary search in the page`,
  });
  return [
    figure("decide, browser", times.decide_us, TARGET_US, `${codes}: read again, so decided and shown but not recorded`),
    figure("code to journal row, browser", times.record_us, null, `${codes}: decided, signed, chained, made a row`),
  ];
}

/** Serves the built page and the lists. */
async function serve(outDir: string, lists: Given["lists"]): Promise<Server> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://here").pathname;
    // With these headers the page is isolated, and its clock has a resolution of 5 µs instead of 100 µs.
    response.setHeader("cross-origin-opener-policy", "same-origin");
    response.setHeader("cross-origin-embedder-policy", "require-corp");
    const [, kind, tickets] = path.split("/");
    const list = lists.find((one) => String(one.tickets) === tickets);
    if (list && (kind === "list" || kind === "prefixes")) {
      const file = kind === "list" ? list.file : list.prefixes;
      response.setHeader("content-length", statSync(file).size);
      createReadStream(file).pipe(response);
      return;
    }
    try {
      const body = readFileSync(join(outDir, path === "/" ? "index.html" : path));
      response.setHeader("content-type", TYPES[extname(path)] ?? "text/html").end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}
