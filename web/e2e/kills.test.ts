// The test kills the browser (SIGKILL, the whole process group) at random moments around a verdict, and starts it again on the
// same profile. Every verdict that was on the page has its row in the journal. Each row reaches the server once. A code without a
// verdict is judged again. `ADMIT_KILLS`: how often, by default 20. `ADMIT_SEED`: repeats the moments of a run.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, type Phone, shot, until, wedge } from "./harness/index.ts";
import { Doors, history, next, phoneBox, ready, synced, syncNow } from "./scanner-kit.ts";

const KILLS = Number(process.env["ADMIT_KILLS"] ?? 20);
const SEED = Number(process.env["ADMIT_SEED"] ?? Math.floor(Math.random() * 1_000_000));
/** The most codes between two kills. The history shows more scans than that. */
const CODES = 45;
/** The longest time from the first code to a kill, milliseconds. Two cores make up to twenty scans in it. */
const LATEST_MS = 250;
const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "10000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const IN = /^(already_in|same_ticket)$/;

/** A generator of random numbers between 0 and 1. The same seed repeats a run. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A verdict that was in the page's document: the id of its scan, and whether it was green. */
interface Seen {
  scan: string;
  green: boolean;
}

/** Collects every verdict when it enters the document. That is before it is painted, so no shown verdict is missed. */
async function watched(page: Page): Promise<Seen[]> {
  const seen: Seen[] = [];
  page.on("console", (message) => {
    const [, scan, screen] = /^verdict (\S+) (\S+)$/.exec(message.text()) ?? [];
    if (scan !== undefined) seen.push({ scan, green: screen === "admit" });
  });
  await page.evaluate(() => {
    let last = "";
    const look = () => {
      const verdict = document.querySelector<HTMLElement>('[data-testid="verdict"]');
      const { scanId = "", screen = "" } = verdict?.dataset ?? {};
      if (scanId === "" || scanId === last) return;
      last = scanId;
      console.log(`verdict ${scanId} ${screen}`);
      window.dispatchEvent(new Event("verdict-seen"));
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  return seen;
}

/** Types one code after another, each as soon as the verdict before it is shown, until the browser is gone. */
async function typing(page: Page, codes: readonly string[]): Promise<void> {
  await page.evaluate((codes) => {
    let at = 0;
    const type = () => {
      const keys = [...(codes[at] ?? "")];
      at += 1;
      for (const key of keys.length > 0 ? [...keys, "Enter"] : []) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }
    };
    window.addEventListener("verdict-seen", type);
    type();
  }, codes);
}

/** Pairs a phone, and waits until it has stored all that it needs to start without a network. */
async function paired(name: string, doors: Doors): Promise<{ phone: Phone; page: Page }> {
  const phone = await phones.open({ name, camera: "none" });
  const page = await doors.pair(phone, "north", name);
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  await page.reload();
  await ready(page);
  return { phone, page };
}

async function reborn(phone: Phone): Promise<Page> {
  await phone.kill();
  await phone.reopen();
  return phone.visit(`${admit.url}/scan/`);
}

/** Types a code, and gives the screen of its verdict, even if that looks like the one before. */
async function judged(page: Page, code: string): Promise<string> {
  const faces = '[data-testid="verdict"], [data-testid="strip"]';
  await page.evaluate((faces) => document.querySelectorAll<HTMLElement>(faces).forEach((one) => (one.dataset["old"] = "1")), faces);
  await wedge(page, code);
  const fresh = () =>
    page.evaluate((faces) => [...document.querySelectorAll<HTMLElement>(faces)].find((one) => !one.dataset["old"])?.dataset["screen"], faces);
  return until(`a verdict of ${code}`, fresh, { every: 20 });
}

/** Whether the browser's log says that it found its database damaged at this start and made a new one. */
function discarded(phone: Phone): boolean {
  const databases = join(phone.profile, "Default", "IndexedDB");
  const logs = readdirSync(databases).map((name) => join(databases, name, "LOG"));
  return logs.some((log) => existsSync(log) && readFileSync(log, "utf8").includes("since it was missing"));
}

/** The server's rows of scans (a claim and its final are two), entered persons, and open incidents of the event. */
async function counted(doors: Doors): Promise<{ rows: { scan_id: string; stage: string }[]; entered: number; incidents: number }> {
  const rows: { scan_id: string; stage: string }[] = [];
  let cursor = "";
  do {
    const path = `/api/events/${doors.id}/scans?limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await doors.call<{ items: { scan_id: string; stage: string }[]; next_cursor: string | null }>("GET", path);
    rows.push(...page.items);
    cursor = page.next_cursor ?? "";
  } while (cursor !== "");
  const { entered, open_incidents } = await doors.occupancy();
  return { rows, entered, incidents: open_incidents };
}

test("a browser killed at any moment around a verdict keeps every scan that was shown, and counts each once", async () => {
  const chance = random(SEED);
  const codes = Array.from({ length: KILLS * CODES }, (_, n) => `SIGKILL-${n}`);
  const doors = await Doors.open(admit, []);
  for (let at = 0; at < codes.length; at += 1000) {
    await doors.call("POST", `/api/events/${doors.id}/tickets`, codes.slice(at, at + 1000).map((barcode) => ({ barcode })));
  }
  let { phone, page } = await paired("killed-often", doors);
  /** The ids of all scans that the journal had after any start. */
  const known = new Set<string>();
  const used = new Set<string>();
  const told = { seen: 0, lost: [] as string[], between: 0, discarded: 0 };
  for (let kill = 0; kill < KILLS; kill += 1) {
    const mine = codes.slice(kill * CODES, (kill + 1) * CODES);
    const older = new Set(known);
    const seen = await watched(page);
    // In a third of the rounds the phone has no network, so its scans are unsent at the kill. In the others a kill may interrupt an upload.
    if (chance() < 1 / 3) await phone.context.setOffline(true);
    await typing(page, mine);
    // tidy-allow: the test kills at a random moment
    await pause(chance() * LATEST_MS);
    page = await reborn(phone);
    await ready(page).catch(async (error) => {
      await shot(page, "scanner-killed");
      throw new Error(`kill ${kill} of seed ${SEED}: ${await page.locator("body").getAttribute("data-phase")}: ${await page.locator("body").innerText()}`, { cause: error });
    });
    if (discarded(phone)) told.discarded += 1;
    const rows = (await history(page)).map((row) => row.id);
    const fresh = rows.filter((id) => !older.has(id));
    for (const id of fresh) known.add(id);
    told.seen += seen.length;
    told.lost.push(...seen.filter(({ scan }) => !known.has(scan)).map(({ scan }) => scan));
    expect(seen.filter(({ green }) => !green), "each code was typed once, so each was let in").toEqual([]);
    if (fresh.length > seen.length) told.between += 1;
    // A shown scan counts. A scan with a row whose verdict was not shown left the door shut if it waited for the server's
    // answer. A code without a row left nothing. In both cases the code is judged as new, once.
    const again = async (at: number) => (mine[at] === undefined ? "" : judged(page, mine[at]));
    if (seen.length > 0) expect(await again(seen.length - 1), `kill ${kill}: a scan that was shown`).toMatch(IN);
    for (let at = seen.length; at < fresh.length; at += 1) {
      expect(await again(at), `kill ${kill}: a scan with a row`).toMatch(/^(already_in|same_ticket|admit)$/);
      if (await page.getByTestId("next").count()) await next(page);
    }
    if (fresh.length < mine.length) {
      expect(await again(fresh.length), `kill ${kill}: a code without a row`).toBe("admit");
      await next(page);
    }
    for (const code of mine.slice(0, fresh.length + 1)) used.add(code);
    for (const { id } of await history(page)) known.add(id);
  }
  console.log(
    `seed ${SEED}: ${KILLS} kills, ${told.seen} verdicts seen, ${told.lost.length} of them lost, ` +
      `${told.between} kills between a row and its verdict, ${known.size} scans; ` +
      `the browser discarded its database ${told.discarded} times`,
  );
  expect(told.lost, `ADMIT_SEED=${SEED}`).toEqual([]);
  expect(told.seen, "the kills came too early to show anything").toBeGreaterThanOrEqual(KILLS);
  await syncNow(page);
  await synced(page);
  const { rows: there, entered, incidents } = await until("all scans at the server", async () => {
    const now = await counted(doors);
    return new Set(now.rows.map((row) => row.scan_id)).size === known.size && now;
  });
  expect(there.filter(({ scan_id }) => !known.has(scan_id)), "the server has no scan that no journal has").toEqual([]);
  expect(new Set(there.map((row) => `${row.scan_id} ${row.stage}`)).size, "no scan came twice").toBe(there.length);
  const { items: open } = await doors.call<{ items: object[] }>("GET", `/api/events/${doors.id}/incidents?limit=5`);
  expect({ entered, incidents }, `each ticket was let in once, ADMIT_SEED=${SEED}: ${JSON.stringify(open)}`).toEqual({ entered: used.size, incidents: 0 });
  expect(phone.errors).toEqual([]);
}, 120_000 + KILLS * 20_000);

/** Replaces the journal's write: it answers at once, and writes a minute later, long after the kill. This plants the fault to find. */
async function hasty(page: Page): Promise<void> {
  for (const worker of page.workers()) {
    await worker.evaluate(() => {
      const { add } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.add = function (value: unknown) {
        const { name, transaction } = this;
        const { db } = transaction;
        // tidy-allow: the planted fault is a late row
        setTimeout(() => add.call(db.transaction(name, "readwrite").objectStore(name), value), 60_000);
        return undefined as unknown as IDBRequest<IDBValidKey>;
      };
    });
  }
}

test("the same kill takes a scan from a journal that answers before it wrote", async () => {
  const doors = await Doors.open(admit, [{ barcode: "HASTY" }]);
  let { phone, page } = await paired("hasty", doors);
  await hasty(page);
  const seen = await watched(page);
  await typing(page, ["HASTY"]);
  await until("the verdict to be told", () => seen.length, { every: 1 });
  page = await reborn(phone);
  const rows = await page.evaluate(
    () =>
      new Promise<string>((found, failed) => {
        const opened = indexedDB.open("admit-journal");
        opened.onerror = () => failed(opened.error ?? new Error("not opened"));
        opened.onsuccess = () => {
          const all = opened.result.transaction("rows").objectStore("rows").getAll();
          all.onsuccess = () => found(JSON.stringify(all.result));
        };
      }),
  );
  expect(rows, "the journal is read").toContain("paired");
  expect(seen.filter(({ scan }) => !rows.includes(scan)), "what was never written survived: this was no kill").toHaveLength(1);
});
