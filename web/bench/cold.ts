/** Measures the time from opening the page to the phase Ready, in a browser that was just started and without a server. */
import type { Page } from "playwright-core";
import { Admit, Phone } from "../e2e/harness/index.ts";
import { caveat, count, type Figure, median, slowed } from "./figure.ts";
import { pairedScanner, pairingLink, type Place, ready, type SignIn, throttle } from "./scanner.ts";

interface Given {
  folder: string;
  sign_in: SignIn;
  events: { place: Place; tickets: number }[];
}

interface Prepared {
  phone: Phone;
  tickets: number;
}

export async function coldStart({ folder, sign_in, events }: Given, quick: boolean): Promise<Figure[]> {
  const admit = await Admit.start({ command: "serve", dataDir: folder });
  const prepared: Prepared[] = [];
  try {
    for (const { place, tickets } of events) {
      const phone = await Phone.open({ name: "bench-cold", camera: "none" });
      prepared.push({ phone, tickets });
      const page = await pairedScanner(phone, await pairingLink(admit.url, sign_in, place));
      await kept(page);
      await phone.close();
    }
    await admit.kill();
    const figures: Figure[] = [];
    for (const { phone, tickets } of prepared) {
      for (const rate of [1, 4]) figures.push(await starts(phone, `${admit.url}/scan/`, tickets, rate, quick ? 2 : 7));
    }
    return figures;
  } finally {
    await Promise.all(prepared.map(({ phone }) => phone.close()));
    await admit.kill();
  }
}

/** Waits until everything is stored that a start without a network needs: the app's files and the list. */
async function kept(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
  await page.waitForFunction(async () => {
    const open = indexedDB.open("admit-cache");
    const db = await new Promise<IDBDatabase>((done, failed) => {
      open.onsuccess = () => done(open.result);
      open.onerror = () => failed(open.error);
    });
    const keys = await new Promise<IDBValidKey[]>((done, failed) => {
      const all = db.transaction("bodies").objectStore("bodies").getAllKeys();
      all.onsuccess = () => done(all.result);
      all.onerror = () => failed(all.error);
    });
    db.close();
    return keys.some((key) => String(key).startsWith("manifest:"));
  });
}

async function starts(phone: Phone, url: string, tickets: number, rate: number, runs: number): Promise<Figure> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await phone.reopen();
    const page = await phone.context.newPage();
    await page.addInitScript(() => {
      const observer = new MutationObserver(() => {
        if (document.body?.dataset["phase"] !== "ready") return;
        Object.assign(window, { __readyAt: performance.now() });
        observer.disconnect();
      });
      observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-phase"] });
    });
    await throttle(page, rate);
    await page.goto(url);
    await ready(page);
    ours.push(await page.evaluate(() => (window as unknown as { __readyAt: number }).__readyAt));
    bare.push(await bareRead(page));
    await phone.close();
  }
  return {
    name: `cold start without a network, ${count(tickets)} tickets, ${slowed(rate)}`,
    value: median(ours),
    unit: "ms",
    limit: median(bare),
    at_most: rate === 4 ? 1_000 : null,
    input:
      `from navigation to Ready, browser just started, server stopped; median of ${runs}${caveat(rate)}; ` +
      "limit: reading the same files and the same list from storage",
  };
}

/** The raw limit: reads the same bytes from the service worker's cache and the list's database, and does nothing with them. */
function bareRead(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const start = performance.now();
    const files = (async () => {
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        const answers = await cache.matchAll();
        await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      }
    })();
    const db = await new Promise<IDBDatabase>((done, failed) => {
      const open = indexedDB.open("admit-cache");
      open.onsuccess = () => done(open.result);
      open.onerror = () => failed(open.error);
    });
    await new Promise<void>((done, failed) => {
      const all = db.transaction("bodies").objectStore("bodies").getAll();
      all.onsuccess = () => done();
      all.onerror = () => failed(all.error);
    });
    db.close();
    await files;
    return performance.now() - start;
  });
}
