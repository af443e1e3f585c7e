// The battery dies just after a green verdict (docs/faults.md, row 1). The browser's folder is on a disk that is an image. The
// test stops every process and copies the image, which lacks the data that the system had only in memory. `ADMIT_CUTS`: how
// often, by default 2. As a control, a journal that does not flush must lose scans in the same way. Otherwise the test proves
// nothing.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, Disk, type Phone, until } from "./harness/index.ts";
import { Doors, history, next, phoneBox, ready, synced, syncNow } from "./scanner-kit.ts";

const CUTS = Number(process.env["ADMIT_CUTS"] ?? 2);
/** The most power cuts of the control. */
const CONTROLS = 10;
/** The number of codes between two power cuts. The history shows more scans than that. */
const CODES = 40;
/** The most green verdicts before a power cut. */
const GREENS = 20;
const MEGABYTES = 512;

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** `relaxed` is the browser's default. A transaction is then complete before it is on the disk. */
type Durability = "strict" | "relaxed";

/** The result of the power cuts of one phone. */
interface Told {
  /** The ids of scans whose green verdict was shown, in their order. */
  shown: string[];
  /** For each power cut, the number of shown scans that the phone did not know afterwards. */
  lost: number[];
}

/** A paired phone without a network, with its folder on a disk. All that it needs to start without a network is flushed. */
async function paired(name: string, disk: Disk, doors: Doors): Promise<Phone> {
  const phone = await phones.open({ name, camera: "none", profile: `${disk.at}/profile` });
  const page = await doors.pair(phone, "north", name);
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  // From the second start on, the service worker gives the app's files.
  await page.reload();
  await ready(page);
  await phone.close();
  await disk.flush();
  await admit.kill("SIGKILL");
  await phone.reopen();
  return phone;
}

/** Makes the journal's transactions complete before they are flushed. This is the fault of the control. */
async function relaxed(page: Page): Promise<void> {
  for (const worker of page.workers()) {
    await worker.evaluate(() => {
      const strict = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = function (stores, mode) {
        return strict.call(this, stores as string[], mode, { durability: "relaxed" });
      };
    });
  }
}

/** Lets the page type one code after another, each as soon as the verdict before it is green. Gives the ids of green scans as they come. */
async function scanning(page: Page, codes: readonly string[]): Promise<string[]> {
  const greens: string[] = [];
  page.on("console", (message) => {
    const green = /^green (\S+)$/.exec(message.text())?.[1];
    if (green !== undefined) greens.push(green);
  });
  await page.evaluate((codes) => {
    let [typed, last] = [0, ""];
    const type = () => {
      const keys = [...(codes[typed] ?? "")];
      typed += 1;
      for (const key of keys.length > 0 ? [...keys, "Enter"] : []) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }
    };
    const look = () => {
      const verdict = document.querySelector<HTMLElement>('[data-testid="verdict"][data-screen="admit"]');
      const scan = verdict?.dataset["scanId"] ?? last;
      if (scan === last) return;
      last = scan;
      console.log(`green ${scan}`);
      type();
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
    type();
  }, codes);
  return greens;
}

/** Repeats: lets the phone scan, and cuts its power. */
async function cuts(phone: Phone, disk: Disk, codes: readonly string[], many: number, durability: Durability): Promise<Told> {
  const told: Told = { shown: [], lost: [] };
  let page = await phone.visit(`${admit.url}/scan/`);
  await ready(page);
  for (let cut = 0; cut < many; cut += 1) {
    if (durability === "relaxed") await relaxed(page);
    const greens = await scanning(page, codes.slice(cut * CODES, (cut + 1) * CODES));
    const after = 1 + Math.floor(Math.random() * GREENS);
    await until("the greens", () => greens.length >= after, { every: 1 });
    await phone.freeze();
    const copy = await disk.copy();
    await phone.kill();
    await disk.become(copy);
    await phone.reopen();
    page = await phone.visit(`${admit.url}/scan/`);
    await ready(page);
    const known = new Set((await history(page)).map((row) => row.id));
    told.lost.push(greens.filter((green) => !known.has(green)).length);
    told.shown.push(...greens);
  }
  await next(page);
  return told;
}

/** The ids of all scans that the server has of an event. */
async function received(doors: Doors): Promise<Set<string>> {
  const ids = new Set<string>();
  let cursor = "";
  do {
    const path = `/api/events/${doors.id}/scans?limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await doors.call<{ items: { scan_id: string }[]; next_cursor: string | null }>("GET", path);
    for (const { scan_id } of page.items) ids.add(scan_id);
    cursor = page.next_cursor ?? "";
  } while (cursor !== "");
  return ids;
}

const patience = (many: number) => 120_000 + many * 60_000;

test("no scan whose green was seen is missing after the power went out under the browser", async (context) => {
  const disk = await Disk.make("power", MEGABYTES);
  if (disk === null) return context.skip("no disk may be mounted here");
  try {
    const codes = Array.from({ length: CUTS * CODES }, (_, n) => `POWER-${n}`);
    const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
    const phone = await paired("power", disk, doors);
    const told = await cuts(phone, disk, codes, CUTS, "strict");
    console.log(`${CUTS} cuts, ${told.shown.length} greens seen, lost in each: ${told.lost.join(" ")}`);
    expect(told.shown.length).toBeGreaterThanOrEqual(CUTS);
    expect(told.lost).toEqual(Array.from({ length: CUTS }, () => 0));
    await admit.restart();
    const page = phone.context.pages().at(-1);
    if (page === undefined) throw new Error("the phone has no page");
    await syncNow(page);
    await synced(page);
    const there = await received(doors);
    expect(told.shown.filter((scan) => !there.has(scan))).toEqual([]);
    expect((await doors.occupancy()).inside).toBe(there.size);
    expect(phone.errors).toEqual([]);
    await phone.close();
  } finally {
    await phones.end();
    await disk.end();
    if (!admit.running) await admit.restart();
  }
}, patience(CUTS));

test("the same cuts take scans from a journal that does not flush", async (context) => {
  const disk = await Disk.make("careless", MEGABYTES);
  if (disk === null) return context.skip("no disk may be mounted here");
  try {
    const many = Math.min(CUTS, CONTROLS);
    const codes = Array.from({ length: many * CODES }, (_, n) => `RELAXED-${n}`);
    const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
    const phone = await paired("careless", disk, doors);
    const told = await cuts(phone, disk, codes, many, "relaxed");
    console.log(`${many} cuts, ${told.shown.length} careless greens seen, lost in each: ${told.lost.join(" ")}`);
    expect(Math.max(...told.lost), "what was not flushed survived: these were no power cuts").toBeGreaterThan(0);
  } finally {
    await phones.end();
    await disk.end();
    if (!admit.running) await admit.restart();
  }
}, patience(CONTROLS));
