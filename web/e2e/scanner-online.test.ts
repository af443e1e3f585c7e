// Online scans: the phone asks the server before the door opens, and waits at most 200 ms.
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, shot, until } from "./harness/index.ts";
import { Doors, listVersion, next, phoneBox, pillText, ready, synced, syncNow, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
let way: Way;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
  way = await Way.open(admit.url);
});
afterAll(async () => {
  await phones.end();
  await way?.close();
  await admit?.kill("SIGTERM");
});

/** A proxy between a phone and the server. A test can hold requests back until it releases them. */
class Way {
  /** Requests whose path matches are held back. */
  held: RegExp | null = null;
  readonly #waiting: (() => void)[] = [];
  /** The paths of requests that were answered completely. */
  readonly answered: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(to: string): Promise<Way> {
    const target = new URL(to);
    const server = createServer((incoming, outgoing) => {
      const pass = () => {
        const { method, headers, url } = incoming;
        const onward = request({ host: target.hostname, port: target.port, method, headers, path: url }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
          answer.on("end", () => way.answered.push(url ?? ""));
        });
        onward.on("error", () => outgoing.destroy());
        incoming.pipe(onward);
      };
      if (way.held?.test(incoming.url ?? "") === true) way.#waiting.push(pass);
      else pass();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const way = new Way(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return way;
  }

  /** Releases all requests, and holds none back any more. */
  release(): void {
    this.held = null;
    for (const pass of this.#waiting.splice(0)) pass();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

/** The journal's records of a scan: the stage of each, and whether the door opened. */
async function journalled(page: Page, scanId: string): Promise<[string, boolean][]> {
  return page.evaluate(
    (id) =>
      new Promise<[string, boolean][]>((done, failed) => {
        const opening = indexedDB.open("admit-journal");
        opening.onerror = () => failed(opening.error);
        opening.onsuccess = () => {
          const all = opening.result.transaction("rows").objectStore("rows").getAll();
          all.onsuccess = () => {
            const rows = (all.result as { text: string }[]).map(({ text }) => JSON.parse(text) as { scan?: { scan_id: string; stage: string; opened: boolean } });
            opening.result.close();
            done(rows.flatMap(({ scan }) => (scan?.scan_id === id ? [[scan.stage, scan.opened] as [string, boolean]] : [])));
          };
        };
      }),
    scanId,
  );
}

async function pair(doors: Doors, name: string): Promise<{ page: Page; errors: readonly string[] }> {
  const phone = await phones.open({ name, camera: "none" });
  const link = new URL(await doors.link("north"));
  const page = await phone.visit(`${way.url}${link.pathname}${link.hash}`);
  await page.getByTestId("change-name").click();
  await page.getByTestId("device-name").fill(name);
  await page.getByTestId("pair-submit").click();
  await ready(page);
  return { page, errors: phone.errors };
}

const confirmed = (page: Page) => page.getByTestId("confirmed").count();

/** Scans tickets until the phone has found the network fast enough and asks the server. */
async function asks(page: Page, codes: string[]): Promise<void> {
  await until("a verdict by the server's word", async () => {
    const code = codes.shift();
    if (code === undefined) throw new Error("no ticket is left");
    const before = way.answered.length;
    expect(await typed(page, code)).toBe("admit");
    if ((await confirmed(page)) === 1) return true;
    await next(page);
    await until("the way to be measured", async () => way.answered.slice(before).some((path) => path === "/api/scanning/time"), { within: 20_000 });
    return false;
  });
}

test("online the server's word is on the screen, and green only with the final on the phone's disk", async () => {
  const spare = Array.from({ length: 9 }, (_, n) => `SPARE-${n}`);
  const doors = await Doors.open(admit, ["GOOD", "VOIDED", ...spare].map((barcode) => ({ barcode })));
  const { page, errors } = await pair(doors, "online");
  await asks(page, spare);
  const shown = await page.getByTestId("verdict").getAttribute("data-scan-id");
  expect(await page.getByTestId("provisional").count()).toBe(0);
  await shot(page, "scanner-confirmed");
  expect(await journalled(page, shown ?? "")).toEqual([["claim", false], ["final", true]]);
  await next(page);
  // The server knows that the ticket is void, but the phone does not learn it.
  way.held = /changes|manifest/;
  await doors.change("VOIDED", { status: "voided" });
  expect(await typed(page, "VOIDED")).toBe("refuse");
  expect(await confirmed(page)).toBe(1);
  way.release();
  await next(page);
  await syncNow(page);
  await synced(page);
  const { inside } = await doors.occupancy();
  expect(inside).toBe(9 - spare.length);
  expect(errors).toEqual([]);
});

test("a server that does not answer is waited for 200 ms, and only once: amber, and the queue goes on", async () => {
  const spare = Array.from({ length: 9 }, (_, n) => `STALL-${n}`);
  const doors = await Doors.open(admit, ["SLOW-ONE", "SLOW-TWO", ...spare].map((barcode) => ({ barcode })));
  const { page, errors } = await pair(doors, "stalled");
  await asks(page, spare);
  await next(page);
  way.held = /api\/scans$/;
  await page.evaluate(() => performance.clearMeasures());
  expect(await typed(page, "SLOW-ONE")).toBe("admit");
  expect(await page.getByTestId("provisional").textContent()).toBe("Stored, will sync");
  expect(await confirmed(page)).toBe(0);
  await next(page);
  expect(await typed(page, "SLOW-TWO")).toBe("admit");
  await shot(page, "scanner-decided-alone");
  const took = await until("both verdicts to be painted", () =>
    page.evaluate(() => {
      const all = performance.getEntriesByName("decode→verdict painted").map(({ duration }) => duration);
      return all.length === 2 && all;
    }),
  );
  // The wait is 200 ms. A busy machine takes the rest to write and paint.
  expect(took[0]).toBeGreaterThan(195);
  expect(took[0]).toBeLessThan(700);
  expect(took[1]).toBeLessThan(195);
  way.release();
  await next(page);
  await syncNow(page);
  await synced(page);
  const { inside, open_incidents } = await doors.occupancy();
  expect([inside, open_incidents]).toEqual([11 - spare.length, 0]);
  expect(errors).toEqual([]);
});

test("a backlog goes up with a spinner and a count while scanning goes on", async () => {
  const codes = Array.from({ length: 8 }, (_, n) => `BACK-${n}`);
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const { page, errors } = await pair(doors, "backlog");
  await page.context().setOffline(true);
  for (const code of codes.slice(0, 7)) {
    expect(await typed(page, code)).toBe("admit");
    await next(page);
  }
  way.held = /scanning\/sync$/;
  await page.context().setOffline(false);
  await syncNow(page);
  await until("the upload to be told", async () => /Syncing 7 scans/.test(await pillText(page)));
  expect(await page.getByTestId("spinner").count()).toBe(1);
  await shot(page, "scanner-syncing");
  await page.getByTestId("pill").click();
  expect(await page.getByTestId("sync-state").textContent()).toContain("Syncing 7 scans. Scanning goes on.");
  expect(await page.getByTestId("sync-progress").getAttribute("max")).toBe("7");
  await shot(page, "scanner-syncing-sheet");
  await page.getByTestId("close-sheet").click();
  expect(await typed(page, codes[7] ?? "")).toBe("admit");
  await next(page);
  way.release();
  await synced(page);
  expect(await page.getByTestId("spinner").count()).toBe(0);
  expect((await doors.occupancy()).inside).toBe(8);
  expect(errors).toEqual([]);
});

test("new tickets that the server speaks of are announced on the home screen and fetched by themselves", async () => {
  const doors = await Doors.open(admit, [{ barcode: "OLD-ONE" }]);
  const { page, errors } = await pair(doors, "stale");
  const before = await listVersion(page);
  way.held = /manifest/;
  await doors.call("POST", `/api/events/${doors.id}/tickets`, [{ barcode: "NEW-ONE" }]);
  await until("staff to be told", async () => /new tickets coming/i.test(await pillText(page)), { within: 60_000 });
  expect(await listVersion(page)).toBe(before);
  await shot(page, "scanner-new-tickets");
  way.release();
  await until("the new list", async () => (await listVersion(page)) !== before, { within: 60_000 });
  expect(await pillText(page)).not.toMatch(/new tickets/i);
  expect(await typed(page, "NEW-ONE")).toBe("admit");
  expect(errors).toEqual([]);
});
