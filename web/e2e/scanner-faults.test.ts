// A phone whose storage fails, and an update of the app while scans are unsent (docs/faults.md, rows 11, 12 and 24).
import { readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, type Phone, shot, until, wedge } from "./harness/index.ts";
import { Doors, history, next, phoneBox, pillText, ready, shownScan, synced, syncNow, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** `dropped`: the journal's connection is closed once, as iOS does after a page slept. `gone`: every later connection is closed too. */
type Storage = "good" | "dropped" | "gone";

/** Makes the journal's storage work or fail. If it fails, the browser itself refuses the call on a closed connection. */
async function storage(page: Page, how: Storage): Promise<void> {
  for (const worker of page.workers()) {
    await worker.evaluate((how) => {
      const held = self as unknown as { kept?: IDBDatabase["transaction"] };
      const kept = (held.kept ??= IDBDatabase.prototype.transaction);
      IDBDatabase.prototype.transaction = how === "good" ? kept : broken;
      function broken(this: IDBDatabase, ...given: Parameters<typeof kept>): IDBTransaction {
        if (this.name === "admit-journal") {
          this.close();
          if (how === "dropped") IDBDatabase.prototype.transaction = kept;
        }
        return kept.apply(this, given);
      }
    }, how);
  }
}

/** The ids of the scans in the file that the fault screen offers. */
async function saved(page: Page): Promise<string[]> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByTestId("export").click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\n");
  // A scan that the server was asked about has two records.
  return [...new Set(lines.map((line) => (JSON.parse(line) as { scan_id: string }).scan_id))];
}

/** Checks that the screen says that nothing can be recorded, and that nobody is let in. */
async function blocked(page: Page, why: string, unsent: number): Promise<void> {
  await page.getByTestId("fault").waitFor();
  expect(await page.getByTestId("fault-title").textContent()).toBe("Storage is blocked");
  expect(await page.getByTestId("fault").textContent()).toContain(why);
  expect(await page.getByTestId("verdict").count()).toBe(0);
  expect(await page.getByTestId("fault-unsent").textContent()).toContain(String(unsent));
}

test("a lost connection to storage is opened once more; where that fails too, nothing is green until it works again", async () => {
  const doors = await Doors.open(admit, ["LOST-1", "LOST-2", "LOST-3"].map((barcode) => ({ barcode })));
  const phone = await phones.open({ name: "lost", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "LOST-1")).toBe("admit");
  const shown = [await shownScan(page)];
  await next(page);
  await storage(page, "dropped");
  expect(await typed(page, "LOST-2")).toBe("admit");
  shown.push(await shownScan(page));
  await next(page);
  expect((await history(page)).map((row) => row.id).reverse()).toEqual(shown);
  await storage(page, "gone");
  await wedge(page, "LOST-3");
  await blocked(page, "closed", 2);
  await shot(page, "scanner-blocked");
  expect(await saved(page)).toEqual(shown);
  await storage(page, "good");
  // The engine tries storage again by itself.
  await ready(page);
  expect(await typed(page, "LOST-3")).toBe("admit");
  await next(page);
  await phone.context.setOffline(false);
  await syncNow(page);
  await synced(page);
  expect(await doors.scans()).toHaveLength(3);
  expect((await doors.occupancy()).inside).toBe(3);
  expect(phone.errors).toEqual([]);
});

test("a full phone admits nobody, offers what it holds as a file, and goes on by itself once there is room", async () => {
  const codes = Array.from({ length: 300 }, (_, n) => `FULL-${n}`);
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const phone = await phones.open({ name: "full", camera: "none" });
  let page = await doors.pair(phone, "north");
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  // The browser remembers its free space for half a minute. So it is started again with little space.
  await phone.close();
  await phone.reopen();
  const blank = phone.context.pages()[0] ?? (await phone.context.newPage());
  const devtools = await phone.context.newCDPSession(blank);
  const { usage } = await devtools.send("Storage.getUsageAndQuota", { origin: admit.url });
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: admit.url, quotaSize: usage + 40_000 });
  page = await phone.visit(`${admit.url}/scan/`);
  await ready(page);
  const { usage: used } = await devtools.send("Storage.getUsageAndQuota", { origin: admit.url });
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: admit.url, quotaSize: used });
  await phone.context.setOffline(true);
  let admitted = 0;
  for (const code of codes) {
    await wedge(page, code);
    const seen = await until("a verdict or the fault", async () => {
      if ((await page.getByTestId("fault").count()) > 0) return "fault";
      return (await page.locator('[data-testid="verdict"][data-screen="admit"]').count()) > 0 && "admit";
    }, { every: 20 });
    if (seen === "fault") break;
    await next(page);
    admitted += 1;
  }
  expect(admitted).toBeLessThan(codes.length);
  expect(admitted).toBeGreaterThan(0);
  await blocked(page, "quota", admitted);
  expect(await saved(page)).toHaveLength(admitted);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: admit.url });
  await ready(page);
  expect(await typed(page, codes[admitted] ?? "")).toBe("admit");
  await next(page);
  await phone.context.setOffline(false);
  await syncNow(page);
  await synced(page);
  expect((await doors.occupancy()).inside).toBe(admitted + 1);
  expect(phone.errors).toEqual([]);
});

/** A server with two builds of the app at one address. The second has a mark in its page and another service worker. */
class Builds {
  build: "one" | "two" = "one";
  /** The path of a file that this server does not give. Empty: it gives all. */
  broken = "";
  /** Uploads get no answer. */
  held = true;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(to: string): Promise<Builds> {
    const target = new URL(to);
    const server = createServer((incoming, outgoing) => {
      const path = incoming.url ?? "";
      if (builds.held && path === "/api/scanning/sync") return void outgoing.destroy();
      if (path === builds.broken) return void outgoing.destroy();
      const altered = path === "/scan/sw.js" || path === "/scan/";
      const headers = { ...incoming.headers, ...(altered ? { "accept-encoding": "identity" } : {}) };
      const onward = request({ host: target.hostname, port: target.port, method: incoming.method, headers, path }, (answer) => {
        if (!altered) {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
          return;
        }
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("end", () => {
          const { "content-length": _, etag: __, ...rest } = answer.headers;
          outgoing.writeHead(answer.statusCode ?? 502, rest).end(builds.#as(Buffer.concat(parts).toString()));
        });
      });
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const builds = new Builds(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return builds;
  }

  #as(text: string): string {
    if (this.build === "one") return text;
    // The build's id follows the prefix of the cache's name.
    return text.replace(/("[0-9a-f]{16})"/, '$1-two"').replace("<head>", '<head><meta name="build" content="two">');
  }

  /** Also a second time. */
  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

const buildOf = (page: Page) => page.evaluate(() => document.querySelector('meta[name="build"]')?.getAttribute("content") ?? "one");

/** Lets the app ask for a newer build, and waits until one is installed and waiting. */
async function newerWaits(page: Page): Promise<void> {
  await page.evaluate(async () => void (await (await navigator.serviceWorker.ready).update()));
  await until("the other build to wait", () => page.evaluate(async () => (await navigator.serviceWorker.ready).waiting !== null));
}

/** Closes and opens the app until the waiting build runs. */
async function reopened(phone: Phone, page: Page, url: string, build: string): Promise<Page> {
  let now = page;
  await until(`build ${build}`, async () => {
    await now.close();
    now = await phone.visit(`${url}/scan/`);
    return (await buildOf(now)) === build;
  });
  await ready(now);
  return now;
}

test("a newer app, and then the older one again, wait until nobody scans; a full queue outlives both", async () => {
  const codes = Array.from({ length: 8 }, (_, n) => `BUILD-${n}`);
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const builds = await Builds.open(admit.url);
  try {
    const phone = await phones.open({ name: "builds", camera: "none" });
    const link = new URL(await doors.link("north"));
    let page = await phone.visit(`${builds.url}${link.pathname}${link.hash}`);
    await page.getByTestId("change-name").click();
    await page.getByTestId("device-name").fill("north");
    await page.getByTestId("pair-submit").click();
    await ready(page);
    let scanned = 0;
    const scan = async () => {
      expect(await typed(page, codes[scanned] ?? "")).toBe("admit");
      scanned += 1;
      await next(page);
      await until("the scan to wait", () => page.locator(`[data-testid="pill"][data-unsent="${scanned}"]`).count());
    };
    await scan();
    await scan();
    // From the second start on, the service worker gives the app's files.
    await page.evaluate(async () => void (await navigator.serviceWorker.ready));
    await page.reload();
    await ready(page);
    for (const [build, before] of [
      ["two", "one"],
      ["one", "two"],
    ] as const) {
      builds.build = build;
      await newerWaits(page);
      await scan();
      await page.reload();
      await ready(page);
      expect(await buildOf(page)).toBe(before);
      expect(await page.evaluate(async () => (await navigator.serviceWorker.ready).waiting !== null)).toBe(true);
      await scan();
      page = await reopened(phone, page, builds.url, build);
      expect((await history(page)).filter((row) => row.sync === "waiting")).toHaveLength(scanned);
      await scan();
    }
    builds.held = false;
    await syncNow(page);
    await synced(page);
    expect(await doors.scans()).toHaveLength(codes.length);
    expect((await doors.occupancy()).inside).toBe(codes.length);
    expect(phone.errors).toEqual([]);
  } finally {
    await builds.close();
  }
});

/** Blocks the journal's storage by an open transaction, so that appends wait. The returned function ends that. */
async function hang(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(async () => {
    const state = Object.assign(window, { letGo: false });
    const db = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("admit-journal");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("no journal"));
    });
    const store = db.transaction(["rows", "control"], "readwrite").objectStore("control");
    await new Promise<void>((held) => {
      const read = () => (store.get("writer").onsuccess = again);
      const again = () => {
        held();
        if (state.letGo) db.close();
        else read();
      };
      read();
    });
  });
  return () => page.evaluate(() => void Object.assign(window, { letGo: true }));
}

test("storage that hangs is called slow; a ticket that waits for it too long is not taken, and staff are told", async () => {
  const doors = await Doors.open(admit, [{ barcode: "SLOW-1" }, { barcode: "SLOW-2" }]);
  const phone = await phones.open({ name: "slow", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  const says = (text: string) => page.getByTestId("notice").filter({ hasText: text }).waitFor();
  const letGo = await hang(page);
  await wedge(page, "SLOW-1");
  await says("Storage is slow: wait.");
  await wedge(page, "SLOW-2");
  await says("Storage is slow: that ticket was not taken. Scan it again.");
  expect(await page.getByTestId("verdict").count()).toBe(0);
  await letGo();
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  // If the code had been judged before, this would be the same ticket again.
  expect(await typed(page, "SLOW-2")).toBe("admit");
  expect(phone.errors).toEqual([]);
});

test("an app that could not be saved on the phone says so, is tried again, and then starts without a network", async () => {
  const doors = await Doors.open(admit, [{ barcode: "UNSAVED" }]);
  const builds = await Builds.open(admit.url);
  try {
    // The service worker keeps this file, but the page works without it.
    builds.broken = "/scan/icon.svg";
    const phone = await phones.open({ name: "unsaved", camera: "none" });
    const link = new URL(await doors.link("north"));
    const page = await phone.visit(`${builds.url}${link.pathname}${link.hash}`);
    await page.getByTestId("change-name").click();
    await page.getByTestId("device-name").fill("north");
    await page.getByTestId("pair-submit").click();
    await ready(page);
    const pill = page.getByTestId("pill");
    await until("staff to be told", async () => /app not saved/i.test(await pillText(page)), { within: 60_000 });
    await pill.click();
    const row = page.getByTestId("kept");
    expect(await row.getAttribute("data-kept")).toBe("missing");
    expect(await row.textContent()).toContain("not yet");
    await shot(page, "scanner-unsaved");
    builds.broken = "";
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await until("the app to be saved", async () => (await row.getAttribute("data-kept")) === "kept", { within: 60_000 });
    expect(await row.textContent()).toBe("yes");
    await page.getByTestId("close-sheet").click();
    expect(await pillText(page)).not.toMatch(/app not saved/i);
    await builds.close();
    await page.reload();
    await ready(page);
    expect(await typed(page, "UNSAVED")).toBe("admit");
    expect(phone.errors).toEqual([]);
  } finally {
    await builds.close();
  }
});
