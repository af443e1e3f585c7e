// Every screen of the scanner on a small phone, a phone, a phone on its side and a tablet. Nothing is cut off, and Tab reaches every control.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot } from "./harness/index.ts";
import { phoneBox, still } from "./scanner-kit.ts";
import * as tour from "./scanner-tour.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const SIZES = [[320, 568], [390, 844], [844, 390], [820, 1180]] as const;
/** A pattern of the screens of which pictures are taken, `.` for all. They are `target/shots/tour-NAME-WIDTH-THEME.png`. */
const pictures = process.env["ADMIT_PICTURES"];
const found: string[] = [];

/** The elements of the topmost screen that do not fit. */
function misfits(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const out: string[] = [];
    const wide = (document.scrollingElement?.scrollWidth ?? 0) - innerWidth;
    if (wide > 0) out.push(`the page is ${wide} px too wide`);
    for (const one of document.querySelectorAll<HTMLElement>("dialog[open], .said, .page, main")) {
      const over = one.scrollWidth - one.clientWidth;
      if (over > 1) out.push(`${one.dataset["testid"] ?? one.className} is ${over} px too wide`);
    }
    const top = document.querySelector("dialog[open]") ?? document.querySelector('[data-testid="verdict"]') ?? document;
    for (const one of top.querySelectorAll<HTMLElement>("button, select, summary, a.button")) {
      const { left, right, width } = one.getBoundingClientRect();
      if (width === 0) continue;
      const name = one.dataset["testid"] ?? one.textContent;
      if (left < -1 || right > innerWidth + 1) out.push(`${name} is out at the side`);
      if (one.scrollWidth > one.clientWidth + 1) out.push(`${name} is cut`);
    }
    // A verdict's text may scroll if it is long. The buttons must stay in sight.
    for (const one of document.querySelectorAll<HTMLElement>('[data-testid="verdict"] .actions button, nav button')) {
      const { top: above, bottom } = one.getBoundingClientRect();
      if (document.querySelector("dialog[open]") === null && (above < 0 || bottom > innerHeight + 1)) out.push(`${one.dataset["testid"]} is out of sight`);
    }
    return out;
  });
}

/** How long the Tab key may take to reach every control of a screen, milliseconds. */
const WALK_MS = 5_000;

/** The controls of the topmost screen that the Tab key does not reach. In a group of radio buttons it reaches one. */
async function unreached(page: Page): Promise<string[]> {
  interface Walk {
    before: HTMLElement | null;
    wanted: HTMLElement[];
    reached: Set<EventTarget | null>;
    note(event: Event): void;
  }
  await page.evaluate(() => {
    const top = document.querySelector("dialog[open]") ?? document.querySelector('[data-testid="verdict"]') ?? document;
    const all = [...top.querySelectorAll<HTMLElement>("button, input, select, textarea, summary, a[href]")];
    const reached = new Set<EventTarget | null>([document.activeElement]);
    const walk: Walk = {
      before: document.activeElement as HTMLElement | null,
      wanted: all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.matches(":disabled") && one.closest("[inert]") === null),
      reached,
      note: ({ target }) => reached.add(target),
    };
    Object.assign(window, { __walk: walk });
    document.addEventListener("focusin", walk.note);
  });
  const left = (): Promise<string[]> =>
    page.evaluate(() => {
      const { wanted, reached } = (window as unknown as { __walk: Walk }).__walk;
      const radio = (one: HTMLElement) => (one instanceof HTMLInputElement && one.type === "radio" ? one.name : null);
      const groups = new Set(wanted.filter((one) => reached.has(one)).map(radio));
      return wanted
        .filter((one) => !reached.has(one) && (radio(one) === null || !groups.has(radio(one))))
        .map((one) => `Tab does not reach ${one.dataset["testid"] ?? (one.id || one.textContent)}`);
    });
  // Tab also stops at scrolling areas. At the end of the page it walks through the browser's own buttons and comes back.
  for (const begun = Date.now(); Date.now() < begun + WALK_MS && (await left()).length > 0; ) await page.keyboard.press("Tab");
  const never = await left();
  await page.evaluate(() => {
    const { before, note } = (window as unknown as { __walk: Walk }).__walk;
    document.removeEventListener("focusin", note);
    before?.focus();
  });
  return never;
}

async function stop(page: Page, name: string): Promise<void> {
  const [size, theme] = [page.viewportSize(), await page.evaluate(() => document.documentElement.dataset["theme"])];
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    await still(page);
    found.push(...(await misfits(page)).map((one) => `${name} at ${width}: ${one}`));
    if (width === 320) found.push(...(await barriers(page)).map((one) => `${name} at ${width}: ${one}`));
    if (pictures === undefined || !new RegExp(pictures).test(name)) continue;
    for (const look of ["night", "light", "contrast"]) {
      await page.evaluate((look) => (document.documentElement.dataset["theme"] = look), look);
      await still(page);
      await shot(page, `tour-${name}-${width}-${look}`);
    }
  }
  await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), theme);
  if (size !== null) await page.setViewportSize(size);
  found.push(...(await unreached(page)).map((one) => `${name}: ${one}`));
}

/** On two cores all parts take three and a half minutes. `make test` walks through the screens that staff see most. */
const SHORT = ["beforePairing", "verdicts"];
const isLong = process.env["ADMIT_LONG"] !== undefined;

for (const part of ["beforePairing", "home", "verdicts", "sheets", "states"] as const) {
  test.skipIf(!isLong && !SHORT.includes(part))(`nothing is cut at any size, and Tab reaches every control: ${part}`, { timeout: 600_000 }, async () => {
    await tour[part]({ admit, phones, stop });
    const all = found.splice(0);
    expect(all, all.join("\n")).toEqual([]);
  });
}
