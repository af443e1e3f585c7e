// Tests the harness itself, without Admit. If this fails, the results of the other browser tests mean nothing.
import { readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { build } from "vite";
import { Admit, barriers, film, folder, Phone, root, shot, show, until } from "./harness/index.ts";

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
let server: Server;
let url = "";
const phones: Phone[] = [];

async function phone(...[options]: Parameters<typeof Phone.open>): Promise<Phone> {
  const opened = await Phone.open(options);
  phones.push(opened);
  return opened;
}

beforeAll(async () => {
  const outDir = folder("e2e/reader");
  await build({
    configFile: false,
    logLevel: "warn",
    root: join(root, "web/e2e/fixtures/reader"),
    build: { outDir, emptyOutDir: true, assetsInlineLimit: 0 },
  });
  server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://here").pathname;
    try {
      const body = readFileSync(join(outDir, path === "/" ? "index.html" : path));
      response.setHeader("content-type", TYPES[extname(path)] ?? "text/html").end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterEach(async () => {
  await Promise.all(phones.splice(0).map((phone) => phone.close()));
});

afterAll(() => server.close());

describe("the camera", () => {
  test("a canvas shows one code after another", async () => {
    const scanner = await phone();
    const page = await scanner.visit(url);
    await show(page, "TOKEN-A-0001");
    await page.getByText("TOKEN-A-0001").waitFor();
    await show(page, null);
    await show(page, "TOKEN-B-0002");
    await page.getByText("TOKEN-B-0002").waitFor();
    expect(await page.locator("li").allTextContents()).toEqual(["TOKEN-A-0001", "TOKEN-B-0002"]);
    expect(statSync(await shot(page, "harness")).size).toBeGreaterThan(1000);
    expect(scanner.errors).toEqual([]);
  });

  test("a film plays as the browser's own camera", async () => {
    const path = await film("harness", [
      { text: null, seconds: 1 },
      { text: "TOKEN-A-0001", seconds: 1.5 },
      { text: null, seconds: 0.7 },
      { text: "TOKEN-B-0002", seconds: 1.5 },
    ]);
    const page = await (await phone({ film: path })).visit(url);
    await page.locator("li").nth(1).waitFor();
    expect((await page.locator("li").allTextContents()).slice(0, 2)).toEqual(["TOKEN-A-0001", "TOKEN-B-0002"]);
  });

  test.each([
    ["none", "NotFoundError"],
    ["denied", "NotAllowedError"],
  ] as const)("a camera that is %s is an error the page can name", async (camera, name) => {
    const page = await (await phone({ camera })).visit(url);
    await until("the error", async () => (await page.title()) === name);
  });
});

test("a phone that is killed keeps what it had written, and only that", async () => {
  const scanner = await phone({ name: "killed" });
  const page = await scanner.visit(url);
  const written = await page.evaluate(
    () =>
      new Promise<string>((done, failed) => {
        const open = indexedDB.open("journal", 1);
        open.onupgradeneeded = () => open.result.createObjectStore("scans");
        open.onerror = () => failed(open.error);
        open.onsuccess = () => {
          const tx = open.result.transaction("scans", "readwrite", { durability: "strict" });
          tx.objectStore("scans").put("scan 1", 1);
          tx.oncomplete = () => done(tx.durability);
        };
      }),
  );
  expect(written).toBe("strict");
  await scanner.kill();
  await scanner.reopen();
  const again = await scanner.visit(url);
  const found = await again.evaluate(
    () =>
      new Promise((done, failed) => {
        const open = indexedDB.open("journal", 1);
        open.onerror = () => failed(open.error);
        open.onsuccess = () => {
          const all = open.result.transaction("scans").objectStore("scans").getAll();
          all.onsuccess = () => done(all.result);
        };
      }),
  );
  expect(found).toEqual(["scan 1"]);
});

test("barriers are found, and an accessible page has none", async () => {
  const page = await (await phone()).visit(url);
  expect(await barriers(page)).toEqual([]);
  await page.evaluate(() => document.querySelector("main")?.append(document.createElement("img")));
  expect((await barriers(page)).join()).toContain("image-alt");
});

describe("the server's process", () => {
  const program = [process.execPath, join(root, "web/e2e/fixtures/stand-in.mjs")];

  test("it is killed and comes back on the same port and folder", async () => {
    const admit = await Admit.start({ program });
    expect(admit.demo.api_token).toBe("demo");
    await admit.kill();
    expect(admit.running).toBe(false);
    await expect(fetch(admit.url)).rejects.toThrow();
    await admit.restart();
    expect(admit.demo.url).toBe(admit.url);
    expect(await (await fetch(admit.url)).text()).toBe("xx");
    await admit.kill("SIGTERM");
  });

  test("a server that ends at once is an error with its own words", async () => {
    await expect(Admit.start({ program, env: { STAND_IN_FAILS: "1" } })).rejects.toThrow(/ended with 3[^]*told to fail/);
  });
});

test("waiting in vain says for what", async () => {
  await expect(until("the moon", () => false, { within: 1 })).rejects.toThrow("for the moon");
});
