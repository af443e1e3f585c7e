import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { build } from "vite";
import { afterEach, expect, test } from "vitest";
import { filesUnder } from "./files.ts";
import { precompress } from "./precompress.ts";
import { fill, serviceWorker } from "./service-worker.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const WORKER = "console.log(__PRECACHE__, __BUILD_ID__);";

/** Builds a page with this text. Gives the folder of the build. */
async function built(text: string, worker = WORKER, leave?: RegExp): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "admit-sw-"));
  folders.push(root);
  mkdirSync(join(root, "src"));
  mkdirSync(join(root, "public"));
  writeFileSync(join(root, "index.html"), '<script type="module" src="/src/main.ts"></script>');
  writeFileSync(join(root, "src/main.ts"), `document.title = ${JSON.stringify(text)};`);
  writeFileSync(join(root, "src/sw.ts"), worker);
  writeFileSync(join(root, "public/icon.svg"), `<svg xmlns="http://www.w3.org/2000/svg">${" ".repeat(600)}</svg>`);
  await build({
    configFile: false,
    logLevel: "silent",
    root,
    base: "/scan/",
    plugins: [serviceWorker({ leave }), precompress()],
    build: { outDir: "dist" },
  });
  return join(root, "dist");
}

const script = (dist: string) => readFileSync(join(dist, "sw.js"), "utf8");
const id = (dist: string) => /"([0-9a-f]{16})"/.exec(script(dist))?.[1];

test("the worker keeps every file of its build, once, and nothing else", async () => {
  const dist = await built("one");
  const list = JSON.parse(/\[[^\]]*\]/.exec(script(dist))?.[0] ?? "null") as string[];
  const plain = filesUnder(dist).filter((file) => !/\.(br|gz)$/.test(file) && file !== "sw.js");
  expect(list).toEqual(plain.map((file) => (file === "index.html" ? "" : file)).sort());
  expect(list).toContain("icon.svg");
});

test("a file that the app does without is not kept, and still changes the build id", async () => {
  const [all, without] = [await built("one"), await built("one", WORKER, /\.svg$/)];
  expect(script(all)).toContain("icon.svg");
  expect(script(without)).not.toContain("icon.svg");
  expect(id(without)).toBe(id(all));
});

test("the build id is the same for the same files, and another for any other", async () => {
  const first = id(await built("one"));
  expect(first).toBeDefined();
  expect(id(await built("one"))).toBe(first);
  expect(id(await built("two"))).not.toBe(first);
  expect(id(await built("one", `${WORKER} console.log("more");`))).not.toBe(first);
});

test("every asset that shrinks has its compressed twins, the worker too if it is long enough", async () => {
  const dist = await built("one", `${WORKER} console.log("${"long ".repeat(200)}");`);
  for (const file of ["icon.svg", "sw.js"]) {
    const bytes = readFileSync(join(dist, file));
    expect(brotliDecompressSync(readFileSync(join(dist, `${file}.br`)))).toEqual(bytes);
    expect(gunzipSync(readFileSync(join(dist, `${file}.gz`)))).toEqual(bytes);
  }
});

test("a worker that forgets the list or the id is refused", () => {
  expect(() => fill("console.log(__BUILD_ID__)", [], "x")).toThrow("__PRECACHE__");
  expect(fill("a(__PRECACHE__, __BUILD_ID__)", ["$&"], "x")).toBe('a(["$&"], "x")');
});
