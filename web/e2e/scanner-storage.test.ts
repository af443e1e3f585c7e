// Scans survive without a network, with a stopped server, a second tab, a dead battery, and a captive portal.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, shot, until, wedge } from "./harness/index.ts";
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

test("with the server gone the scanner starts from nothing but the phone, and hands over when it is back", async () => {
  const doors = await Doors.open(admit, [{ barcode: "COLD-RELOAD" }, { barcode: "COLD-REOPEN" }]);
  const phone = await phones.open({ name: "cold", camera: "none" });
  let page = await doors.pair(phone, "north");
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
  await admit.kill("SIGKILL");
  await page.reload();
  await ready(page);
  expect(await page.locator("body").getAttribute("data-phase")).toBe("ready");
  expect(await typed(page, "COLD-RELOAD")).toBe("admit");
  await until("its type and code to be kept", () => page.evaluate(() => localStorage.getItem("admit-history-labels")?.includes("LOAD")));
  await page.reload();
  await ready(page);
  // The history has the type and the code of the scan before this start.
  await page.getByTestId("open-history").click();
  const row = await page.getByTestId("history-row").first().textContent();
  expect([row?.includes("General"), row?.includes("…\u2060LOAD")], `${row}`).toEqual([true, true]);
  await page.getByTestId("close-sheet").click();
  await phone.close();
  await phone.reopen();
  page = await phone.visit(`${admit.url}/scan/`);
  await ready(page);
  // The sheet shows the browser's decision about storage, although nobody paired since this start.
  await page.getByTestId("pill").click();
  await until("the storage's row", async () => {
    const kept = await page.evaluate(() => navigator.storage.persisted());
    return (await page.getByTestId("persisted").textContent()) === (kept ? "Kept by the browser" : "May be cleared by the browser when space is short");
  });
  expect(await page.getByTestId("kept").textContent()).toBe("yes");
  await page.getByTestId("close-sheet").click();
  expect(await typed(page, "COLD-REOPEN")).toBe("admit");
  await until("both to wait", () => page.locator('[data-testid="pill"][data-unsent="2"]').count());
  await shot(page, "scanner-cold-start");
  await admit.restart();
  await next(page);
  await syncNow(page);
  await synced(page);
  expect((await doors.occupancy()).inside).toBe(2);
  expect(phone.errors).toEqual([]);
});

test("of two tabs one scans; whoever is taken over stores nothing more and says so", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TAB-ONE" }, { barcode: "TAB-TWO" }]);
  const phone = await phones.open({ name: "tabs", camera: "none" });
  const first = await doors.pair(phone, "north");
  expect(await typed(first, "TAB-ONE")).toBe("admit");
  const second = await phone.visit(`${admit.url}/scan/`);
  await second.getByTestId("other-tab").waitFor();
  expect(await second.getByTestId("scan").count()).toBe(0);
  await shot(second, "scanner-other-tab");
  await second.getByTestId("take-over").click();
  await ready(second);
  await first.getByTestId("other-tab").waitFor();
  expect(await first.getByTestId("other-tab").textContent()).toContain("Taken over");
  // The old tab gets the same ticket first. It shows no green verdict and writes no row.
  await first.bringToFront();
  await wedge(first, "TAB-TWO");
  await second.bringToFront();
  expect(await typed(second, "TAB-TWO")).toBe("admit");
  expect(await first.getByTestId("verdict").count()).toBe(0);
  expect(await history(second)).toHaveLength(2);
  await syncNow(second);
  await synced(second);
  expect(await doors.scans()).toHaveLength(2);
  expect(phone.errors).toEqual([]);
});

test("a verdict that was seen is stored: the browser killed right after it knows every scan", async () => {
  const codes = ["KILL-ONE", "KILL-TWO", "KILL-THREE"];
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const phone = await phones.open({ name: "killed", camera: "none" });
  let page = await doors.pair(phone, "north");
  const shown: string[] = [];
  for (const code of codes) {
    expect(await typed(page, code)).toBe("admit");
    shown.push(await shownScan(page));
    await phone.kill();
    await phone.reopen();
    page = await phone.visit(`${admit.url}/scan/`);
    await ready(page);
    expect((await history(page)).map((row) => row.id)).toEqual([...shown].reverse());
  }
  await syncNow(page);
  await synced(page);
  await until("all at the server", async () => (await doors.scans()).length === codes.length);
});

test("a portal that answers in the server's place takes nothing: the queue stays, and staff are told", async () => {
  const codes = ["PORTAL-PAGE", "PORTAL-AWAY"];
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const phone = await phones.open({ name: "portal", camera: "none" });
  const page = await doors.pair(phone, "north");
  // The portal answers with a page, and then with a redirect to one.
  for (const [at, away] of [false, true].entries()) {
    await admit.kill("SIGKILL");
    const asked: string[] = [];
    const portal = await lies(Number(new URL(admit.url).port), asked, away);
    try {
      expect(await typed(page, codes[at] ?? "")).toBe("admit");
      await next(page);
      await syncNow(page);
      await until("staff to be told", async () => /No real network/.test(await pillText(page)));
      expect(asked.length).toBeGreaterThan(0);
      expect(asked).not.toContain("/sign-in");
      expect(await page.getByTestId("pill").getAttribute("data-unsent")).toBe("1");
      expect((await history(page)).map((row) => row.sync)).toEqual(away ? ["waiting", "sent"] : ["waiting"]);
      if (!away) await shot(page, "scanner-portal");
    } finally {
      portal.closeAllConnections();
      await new Promise((done) => portal.close(done));
    }
    await admit.restart();
    await syncNow(page);
    await synced(page);
    expect((await doors.occupancy()).inside).toBe(at + 1);
  }
  expect(phone.errors).toEqual([]);
});

/** A captive portal. It answers each request with status 200 and a page, or with a redirect to one. */
async function lies(port: number, asked: string[], away: boolean): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (away) response.writeHead(302, { location: "/sign-in" }).end();
    else response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome to the hotel</h1>");
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(port, "127.0.0.1", done));
  return server;
}

test("site data erased in mid-shift: the window says that it holds the only copy, and saves it before anything else", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ERASED-1" }, { barcode: "ERASED-2" }]);
  const phone = await phones.open({ name: "erased", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "ERASED-1")).toBe("admit");
  await next(page);
  const devtools = await phone.context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin: admit.url, storageTypes: "indexeddb" });
  await wedge(page, "ERASED-2");
  await page.getByTestId("fault").waitFor();
  expect(await page.getByTestId("fault-title").textContent()).toBe("This browser erased the record");
  expect(await page.getByTestId("start-again").count()).toBe(0);
  await shot(page, "scanner-erased");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByTestId("export").click()]);
  expect(readFileSync(await file.path(), "utf8")).toContain("north");
  await page.getByTestId("start-again").waitFor();
  await phone.context.setOffline(false);
});

test("a pairing link that is over is refused where staff see it, and the phone goes on at its gate", async () => {
  const doors = await Doors.open(admit, [{ barcode: "LINK-1" }]);
  const phone = await phones.open({ name: "link", camera: "none" });
  const page = await doors.pair(phone, "north", "North 1");
  // The link is opened in a window that is open already, as with an installed app.
  await page.evaluate(() => (location.hash = "#pair=nobody-made-this-one"));
  await page.getByTestId("pair-place-error").waitFor();
  expect(page.url()).not.toContain("nobody-made");
  await page.getByTestId("pair-cancel").click();
  await ready(page);
  expect(await typed(page, "LINK-1")).toBe("admit");
  expect(phone.errors).toEqual([]);
});
