// Every screen of the scanner on a small phone, a phone, a phone on its side and a tablet: nothing is cut or out of reach.
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
/** Set it to look at all of them: `target/shots/tour-NAME-WIDTH-THEME.png`. */
const pictures = process.env["ADMIT_PICTURES"] !== undefined;
const found: string[] = [];

/** What of the screen that is on top does not fit. */
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
    // Words of a verdict may scroll where a guest's own are long; the buttons stay in sight.
    for (const one of document.querySelectorAll<HTMLElement>('[data-testid="verdict"] .actions button, nav button')) {
      const { top: above, bottom } = one.getBoundingClientRect();
      if (document.querySelector("dialog[open]") === null && (above < 0 || bottom > innerHeight + 1)) out.push(`${one.dataset["testid"]} is out of sight`);
    }
    return out;
  });
}

async function stop(page: Page, name: string): Promise<void> {
  const [size, theme] = [page.viewportSize(), await page.evaluate(() => document.documentElement.dataset["theme"])];
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    await still(page);
    found.push(...(await misfits(page)).map((one) => `${name} at ${width}: ${one}`));
    if (width === 320) found.push(...(await barriers(page)).map((one) => `${name} at ${width}: ${one}`));
    if (!pictures) continue;
    for (const look of ["night", "light", "contrast"]) {
      await page.evaluate((look) => (document.documentElement.dataset["theme"] = look), look);
      await still(page);
      await shot(page, `tour-${name}-${width}-${look}`);
    }
  }
  await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), theme);
  if (size !== null) await page.setViewportSize(size);
}

for (const part of ["beforePairing", "home", "verdicts", "sheets", "states"] as const) {
  test(`nothing is cut at any size: ${part}`, { timeout: 600_000 }, async () => {
    await tour[part]({ admit, phones, stop });
    expect(found.splice(0)).toEqual([]);
  });
}
