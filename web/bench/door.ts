/**
 * Measures a scanner against its targets at the door (experience §13): camera and decoder, loading a list, search, the page's
 * thread, memory. It uses one phone with a canvas as its camera. `verdict` and `cold` measure the other targets.
 */
import type { Page } from "playwright-core";
import { Admit, Phone, qrDataUrl } from "../e2e/harness/index.ts";
import { caveat, count, type Figure, median, percentile, slowed } from "./figure.ts";
import { pairedScanner, pairingLink, type Place, ready, type SignIn, throttle } from "./scanner.ts";

interface Given {
  folder: string;
  sign_in: SignIn;
  event: { place: Place; codes: string[]; tickets: number };
  large: { place: Place; tickets: number };
}

/** The times that the page notes for this measurement, by the page's own clock, milliseconds. */
interface Kept {
  frames: number[];
  lags: number[];
  asked: number;
  shown: number;
  __showCode(url: string | null): Promise<void>;
  /** Whether no question is open. It refuses a guest whom staff must check, so that the next code is judged. */
  __answered(): boolean;
}

const MARK = "decode→verdict painted";
/** The texts that are typed letter by letter. Each letter from the second on starts a search. */
const NAMES = ["anna", "maria", "thomas", "garcia", "muller", "oleks", "ines", "johan", "sofia", "petrov"];

export async function door({ folder, sign_in, event, large }: Given, quick: boolean): Promise<Figure[]> {
  const admit = await Admit.start({ command: "serve", dataDir: folder });
  const phones: Phone[] = [];
  const open = async (name: string): Promise<Phone> => {
    const phone = await Phone.open({ name });
    phones.push(phone);
    await watch(phone);
    return phone;
  };
  try {
    const figures: Figure[] = [];
    const codes = [...event.codes];
    figures.push(await received(await open("bench-list"), admit.url, await pairingLink(admit.url, sign_in, event.place), event.tickets));
    for (const rate of [1, 4]) {
      const phone = await open(`bench-door-${rate}`);
      const bare = await bareStall(phone, admit.url, rate, quick ? 200 : 1_000);
      const page = await pairedScanner(phone, await pairingLink(admit.url, sign_in, event.place));
      await throttle(page, rate);
      figures.push(...(await camera(page, codes, rate, quick, bare)));
      if (rate === 1) {
        figures.push(...(await keystrokes(page, event.tickets, quick ? 1 : 5)));
        figures.push(await soak(page, codes, quick ? 10 : 75));
      }
    }
    const phone = await open("bench-large");
    const page = await pairedScanner(phone, await pairingLink(admit.url, sign_in, large.place));
    figures.push(await coldRead(page, large.tickets, quick ? 3 : 15));
    return figures;
  } finally {
    await Promise.all(phones.map((phone) => phone.close()));
    await admit.kill();
  }
}

/** Prepares each page to note when a frame went to the decoder and came back, when a camera was asked for, and how late tasks run. */
async function watch(phone: Phone): Promise<void> {
  await phone.context.addInitScript(() => {
    const kept = Object.assign(window as unknown as Kept, { frames: [], lags: [], asked: 0, shown: 0 });
    kept.__answered = () => {
      const asks = document.querySelector('[data-testid="verdict"]:is([data-screen="check"],[data-screen="admit_party"],[data-screen="full"])');
      if (asks !== null) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
      return asks === null;
    };
    let sent = 0;
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (this: Worker, message: { kind?: string }, ...rest: []) {
      if (message.kind === "frame") {
        sent = performance.now();
        this.addEventListener("message", (event) => event.data.kind === "done" && kept.frames.push(performance.now() - sent), { once: true });
      }
      post.call(this, message, ...rest);
    } as typeof post;
    if (navigator.mediaDevices) {
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = (wish) => {
        kept.asked ||= performance.now();
        return ask(wish);
      };
    }
    const { port1, port2 } = new MessageChannel();
    let expected = performance.now();
    port1.onmessage = () => {
      kept.lags.push(performance.now() - expected);
      if (kept.lags.length > 50_000) kept.lags.splice(0, 25_000);
      setTimeout(() => {
        expected = performance.now();
        port2.postMessage(0);
      }, 5);
    };
    port2.postMessage(0);
  });
}

/** Shows a code to the camera. Gives the times from the picture to the reading and to the painted verdict. */
function swap(page: Page, url: string): Promise<{ read: number; painted: number }> {
  return page.evaluate(
    async ({ url, mark }) => {
      const kept = window as unknown as Kept;
      const before = performance.getEntriesByName(mark).length;
      await kept.__showCode(url);
      const shown = performance.now();
      return new Promise<{ read: number; painted: number }>((done, failed) => {
        const late = setTimeout(() => failed(new Error("no verdict")), 20_000);
        const look = () => {
          const entry = performance.getEntriesByName(mark)[before];
          if (entry === undefined) return void setTimeout(look, 5);
          if (!kept.__answered()) return void setTimeout(look, 50);
          clearTimeout(late);
          done({ read: entry.startTime - shown, painted: entry.startTime + entry.duration - shown });
        };
        look();
      });
    },
    { url, mark: MARK },
  );
}

/**
 * The raw limit: how late tasks run on a page that only shows the same canvas as its camera. The canvas is drawn on the page's
 * thread, and a real camera's picture is not.
 */
async function bareStall(phone: Phone, url: string, rate: number, tasks: number): Promise<number> {
  const page = await phone.visit(`${url}/scan/manifest.webmanifest`);
  await throttle(page, rate);
  await page.evaluate(async () => {
    const video = document.createElement("video");
    video.muted = true;
    video.srcObject = await navigator.mediaDevices.getUserMedia({ video: true });
    document.documentElement.append(video);
    await video.play();
    (window as unknown as Kept).lags.length = 0;
  });
  await page.waitForFunction((tasks) => (window as unknown as Kept).lags.length >= tasks, tasks, { timeout: 120_000 });
  const lags = await page.evaluate(() => (window as unknown as Kept).lags);
  await page.close();
  return percentile(lags, 0.99);
}

async function camera(page: Page, codes: string[], rate: number, quick: boolean, bare: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  const at = `${slowed(rate)}`;
  // Measures the camera's start. A code is in its picture from the first frame on.
  const firsts: number[] = [];
  for (let run = 0; run < (quick ? 2 : 7); run += 1) {
    const url = await qrDataUrl(codes.shift() ?? "");
    await page.reload({ waitUntil: "commit" });
    await page.waitForFunction(() => "__showCode" in window);
    await page.evaluate((url) => (window as unknown as Kept).__showCode(url), url);
    await ready(page);
    await page.waitForFunction((mark) => performance.getEntriesByName(mark).length > 0, MARK);
    firsts.push(await page.evaluate((mark) => (performance.getEntriesByName(mark)[0]?.startTime ?? 0) - (window as unknown as Kept).asked, MARK));
    await page.waitForFunction(() => (window as unknown as Kept).__answered());
  }
  figures.push(
    figure(`camera start → first decode, median, ${at}`, median(firsts), "ms", 600, `${firsts.length} starts of the page with a code in view, from getUserMedia on${caveat(rate)}`),
  );
  await page.evaluate(() => {
    const kept = window as unknown as Kept;
    kept.frames.length = kept.lags.length = 0;
  });
  const swaps: number[] = [];
  for (let n = 0; n < (quick ? 5 : 60); n += 1) swaps.push((await swap(page, await qrDataUrl(codes.shift() ?? ""))).read);
  const { frames, lags } = await page.evaluate(() => {
    const { frames, lags } = window as unknown as Kept;
    return { frames, lags };
  });
  figures.push(figure(`ticket swap → decode, p95, ${at}`, percentile(swaps, 0.95), "ms", 250, `${swaps.length} codes, one after the other${caveat(rate)}`));
  figures.push(figure(`decode, p99, ${at}`, percentile(frames, 0.99), "ms", rate === 1 ? 40 : null, `${count(frames.length)} frames of 1280×720, from the page to the decoder's worker and back${caveat(rate)}`));
  const stall = `${count(lags.length)} tasks queued every 5 ms: how late each ran${caveat(rate)}; limit: a page that shows the canvas alone`;
  figures.push({ ...figure(`main-thread stall while scanning, p99, ${at}`, percentile(lags, 0.99), "ms", rate === 1 ? 16 : 25, stall), limit: bare });
  return figures;
}

/** Measures the time from the last byte of the list to a scanner that can scan. */
async function received(phone: Phone, url: string, link: string, tickets: number): Promise<Figure> {
  await phone.context.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.body?.dataset["phase"] !== "ready") return;
      Object.assign(window, { __readyAt: performance.timeOrigin + performance.now() });
      observer.disconnect();
    }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-phase"] });
  });
  const page = await pairedScanner(phone, link);
  const readyAt = await page.evaluate(() => (window as unknown as { __readyAt: number }).__readyAt);
  let listAt = 0;
  for (const worker of page.workers()) {
    listAt ||= await worker.evaluate(() => {
      const entry = performance.getEntriesByType("resource").find(({ name }) => name.includes("/manifest"));
      return entry === undefined ? 0 : performance.timeOrigin + (entry as PerformanceResourceTiming).responseEnd;
    });
  }
  if (listAt === 0 || !page.url().startsWith(url)) throw new Error("no list was fetched");
  return figure(`list received → usable, ${count(tickets)} tickets, no throttle`, readyAt - listAt, "ms", 1_500, "from its last byte to Ready: verified, indexed, stored; one pairing");
}

/**
 * Measures a search for each typed letter, always with the same texts. The time ends when the letter's own answer is in the page.
 * A mere change of the page does not end it, since it may have another cause.
 */
async function keystrokes(page: Page, tickets: number, rounds: number): Promise<Figure[]> {
  await page.evaluate(() => (window as unknown as Kept).__showCode(null));
  // A verdict that offers the rest of a booking stays until staff go on.
  const gone = (): boolean => {
    const verdict = document.querySelector('[data-testid="verdict"]');
    verdict?.querySelector<HTMLElement>('[data-testid="next"]')?.click();
    return verdict === null;
  };
  await page.waitForFunction(gone, undefined, { polling: 250, timeout: 60_000 });
  await page.waitForSelector('[data-testid="search"][data-names="held"]', { timeout: 60_000 });
  await page.getByTestId("search").click();
  await page.getByTestId("guest-search").waitFor();
  const times = await page.evaluate(
    async ({ names, rounds }) => {
      const field = document.querySelector<HTMLInputElement>('[data-testid="guest-search"]');
      const rows = document.querySelector<HTMLElement>('[data-testid="search-rows"]');
      if (!field || !rows) throw new Error("there is no search");
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const name of names) {
          for (let length = 2; length <= name.length; length += 1) {
            const text = name.slice(0, length);
            // The rows say which text they answer. A change of the page for another reason, such as a sync, is no answer.
            const answered = new Promise<number>((done, failed) => {
              const late = setTimeout(() => failed(new Error(`no answer to ${text}`)), 20_000);
              const observer = new MutationObserver(() => {
                if (rows.dataset["answers"] !== text) return;
                observer.disconnect();
                clearTimeout(late);
                done(performance.now());
              });
              observer.observe(rows, { attributes: true, attributeFilter: ["data-answers"] });
            });
            const start = performance.now();
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
            times.push((await answered) - start);
            // The rows are painted before the next letter comes.
            for (let frame = 0; frame < 2; frame += 1) await new Promise((done) => requestAnimationFrame(done));
          }
        }
      }
      return times;
    },
    { names: NAMES, rounds },
  );
  await page.getByTestId("close-sheet").click();
  const input = `${times.length} letters, the same in each of ${rounds} rounds, from the letter to its own answer in the page`;
  const at = `${count(tickets)} guests, no throttle`;
  return [
    figure(`search keystroke, p50, ${at}`, median(times), "ms", null, input),
    figure(`search keystroke, p99, ${at}`, percentile(times, 0.99), "ms", 16, input),
  ];
}

/** Shows code after code. Measures how much more memory the page has at the end than after the first fifth of the time. */
async function soak(page: Page, codes: string[], seconds: number): Promise<Figure> {
  const session = await page.context().newCDPSession(page);
  const heap = async (): Promise<number> => {
    await session.send("HeapProfiler.collectGarbage");
    return ((await session.send("Runtime.getHeapUsage")) as { usedSize: number }).usedSize;
  };
  const begin = performance.now();
  const passed = () => (performance.now() - begin) / 1_000;
  let scans = 0;
  const until = async (end: number): Promise<void> => {
    for (; passed() < end && codes.length > 0; scans += 1) await swap(page, await qrDataUrl(codes.shift() ?? ""));
  };
  await until(seconds / 5);
  const first = await heap();
  await until(seconds);
  const last = await heap();
  return figure(`heap growth of the page over ${Math.round(passed())} s`, (last / first - 1) * 100, "%", 5, `${count(scans)} tickets one after the other, from second ${Math.round(seconds / 5)} on; ${Math.round(first / 1024)} kB then`);
}

/** Measures the time to read the stored list from the database into WASM memory. */
async function coldRead(page: Page, tickets: number, runs: number): Promise<Figure> {
  const times = await page.evaluate(async (runs) => {
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const start = performance.now();
      const db = await new Promise<IDBDatabase>((done, failed) => {
        const open = indexedDB.open("admit-cache");
        open.onsuccess = () => done(open.result);
        open.onerror = () => failed(open.error);
      });
      const bodies = await new Promise<(Uint8Array | { body: Uint8Array })[]>((done, failed) => {
        const all = db.transaction("bodies").objectStore("bodies").getAll(IDBKeyRange.bound("manifest:", "manifest:\uffff"));
        all.onsuccess = () => done(all.result);
        all.onerror = () => failed(all.error);
      });
      const size = bodies.reduce((sum, one) => sum + ("byteLength" in one ? one.byteLength : one.body.byteLength), 0);
      const memory = new WebAssembly.Memory({ initial: Math.ceil(size / 65_536) + 1 });
      for (const one of bodies) new Uint8Array(memory.buffer).set("byteLength" in one ? one : one.body);
      times.push(performance.now() - start);
      db.close();
      if (size === 0) throw new Error("no list is stored");
    }
    return times;
  }, runs);
  return figure(`list cold read into WASM memory, ${count(tickets)} tickets`, median(times), "ms", 60, `database opened, read, copied; median of ${runs}`);
}

function figure(name: string, value: number, unit: string, at_most: number | null, input: string): Figure {
  return { name, value, unit, limit: null, at_most, input };
}
