/** Measures the time from a code to the painted verdict, with the strict commit. The raw limit is bare strict commits in the same page. */
import type { Page } from "playwright-core";
import { Admit, Phone } from "../e2e/harness/index.ts";
import { caveat, count, type Figure, percentile, slowed } from "./figure.ts";
import { pairedScanner, pairingLink, type Place, type SignIn, throttle } from "./scanner.ts";

interface Given {
  folder: string;
  sign_in: SignIn;
  event: { place: Place; codes: string[]; tickets: number };
}

const WARM_UP = 10;
/** The scanner's own measurement, from reading the code to the frame that shows the verdict. */
const MARK = "decode→verdict painted";

export async function verdict({ folder, sign_in, event }: Given, quick: boolean): Promise<Figure[]> {
  const scans = quick ? 20 : 300;
  const admit = await Admit.start({ command: "serve", dataDir: folder });
  const figures: Figure[] = [];
  try {
    let next = 0;
    for (const rate of [1, 4]) {
      const phone = await Phone.open({ name: "bench-verdict", camera: "none" });
      try {
        const page = await pairedScanner(phone, await pairingLink(admit.url, sign_in, event.place));
        await throttle(page, rate);
        const codes = event.codes.slice(next, next + WARM_UP + scans);
        next += codes.length;
        if (codes.length < WARM_UP + scans) throw new Error("the event has too few codes to measure with");
        const ours = (await scanAll(page, codes)).slice(WARM_UP);
        const bare = (await commitAll(page, WARM_UP + scans)).slice(WARM_UP);
        for (const [name, share] of [["p50", 0.5], ["p99", 0.99]] as const) {
          figures.push({
            name: `verdict painted, ${name}, ${slowed(rate)}`,
            value: percentile(ours, share),
            unit: "ms",
            limit: percentile(bare, share),
            at_most: share === 0.99 && rate === 4 ? 50 : null,
            input:
              `${count(scans)} codes of a list of ${count(event.tickets)}, online, hardware scanner${caveat(rate)}; ` +
              `limit: ${name} of bare strict IndexedDB commits`,
          });
        }
        if (phone.errors.length > 0) throw new Error(`the page failed: ${phone.errors.join("; ")}`);
      } finally {
        await phone.close();
      }
    }
  } finally {
    await admit.kill("SIGTERM");
  }
  return figures;
}

/** Gives each code to the page as a hardware scanner does. Gives the milliseconds until each verdict was painted. */
function scanAll(page: Page, codes: readonly string[]): Promise<number[]> {
  return page.evaluate(
    async ({ codes, mark }) => {
      const key = (key: string) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      const painted: number[] = [];
      let heard: (() => void) | null = null;
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntriesByName(mark)) painted.push(entry.duration);
        heard?.();
      });
      observer.observe({ type: "measure" });
      for (const [index, code] of codes.entries()) {
        for (const char of code) key(char);
        key("Enter");
        await new Promise<void>((done, failed) => {
          const late = setTimeout(() => failed(new Error(`no verdict for code ${index}: ${code}`)), 20_000);
          heard = () => {
            if (painted.length <= index) return;
            clearTimeout(late);
            done();
          };
          heard();
        });
        // Answers a question with nobody, so that the next code is judged.
        while (document.querySelector('[data-testid="verdict"]:is([data-screen="check"],[data-screen="admit_party"],[data-screen="full"])')) {
          key("Escape");
          await new Promise((done) => setTimeout(done, 50));
        }
        // Waits one more frame, because the next guest does not come in the moment when the verdict is painted.
        await new Promise((done) => requestAnimationFrame(done));
      }
      observer.disconnect();
      return painted;
    },
    { codes, mark: MARK },
  );
}

/** Stores rows of a journal's size, each in a strict transaction. Gives the milliseconds of each. */
function commitAll(page: Page, rows: number): Promise<number[]> {
  return page.evaluate(async (rows) => {
    const db = await new Promise<IDBDatabase>((done, failed) => {
      const open = indexedDB.open("bench-bare", 1);
      open.onupgradeneeded = () => open.result.createObjectStore("rows", { keyPath: "n" });
      open.onsuccess = () => done(open.result);
      open.onerror = () => failed(open.error);
    });
    const text = "x".repeat(1_000);
    const times: number[] = [];
    for (let n = 0; n < rows; n += 1) {
      const start = performance.now();
      await new Promise<void>((done, failed) => {
        const tx = db.transaction("rows", "readwrite", { durability: "strict" });
        tx.objectStore("rows").put({ n, text });
        tx.oncomplete = () => done();
        tx.onabort = () => failed(tx.error);
      });
      times.push(performance.now() - start);
    }
    db.close();
    return times;
  }, rows);
}
