// The scanner's screens are accessible. Axe checks each screen in every theme.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { Doors, hours, next, phoneBox, ready, still, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const found: string[] = [];

/** Checks the page with axe in the themes night, light and high contrast, and takes a picture of each. */
async function look(page: Page, name: string): Promise<void> {
  for (const theme of ["night", "light", "contrast"]) {
    await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), theme);
    await still(page);
    found.push(...(await barriers(page)).map((barrier) => `${name} (${theme}) ${barrier}`));
    await shot(page, `look-${name}-${theme}`);
  }
}

test("no screen of the scanner has a barrier, by night, by day and in high contrast", async () => {
  const doors = await Doors.open(admit, [
    { barcode: "LOOK-ADMIT" },
    { barcode: "LOOK-PARTY", entry_limit: 12 },
    { barcode: "LOOK-ONCE" },
    { barcode: "LOOK-SOUTH", gate_ids: ["south"] },
    { barcode: "LOOK-EXPIRED", expires_at: hours(-0.5) },
    { barcode: "LOOK-VOID" },
  ]);
  await doors.change("LOOK-VOID", { status: "voided" });
  const other = await phones.open({ name: "other", camera: "none" });
  const south = await doors.pair(other, "south");
  expect(await typed(south, "LOOK-ONCE")).toBe("admit");
  await synced(south);
  const phone = await phones.open({ name: "looks" });
  let page = await phone.visit(`${admit.url}/scan/`);
  await page.getByTestId("pair").waitFor();
  await look(page, "pair");
  await page.close();
  page = await doors.pair(phone, "north", "North gate 1");
  await look(page, "home");
  for (const sheet of ["more", "open-history", "pill", "open-settings", "search"]) {
    if (sheet === "open-settings") await page.getByTestId("more").click();
    await page.getByTestId(sheet).click();
    await look(page, `sheet-${sheet.replace("open-", "")}`);
    await page.getByTestId("close-sheet").click();
  }
  for (const [code, screen] of [
    ["LOOK-PARTY", "admit_party"],
    ["LOOK-VOID", "refuse"],
    ["LOOK-SOUTH", "wrong_place"],
    ["LOOK-EXPIRED", "wrong_time"],
    ["NOBODY-KNOWS-THIS", "not_in_list"],
    ["X".repeat(513), "not_a_ticket"],
    ["LOOK-ONCE", "already_in"],
  ] as const) {
    expect(await typed(page, code)).toBe(screen);
    await look(page, screen);
    if (screen === "admit_party") {
      await page.getByTestId("count-0").click();
      await page.locator('[data-testid="verdict"][data-screen="nobody"]').waitFor();
    }
    if (screen === "wrong_time") {
      await page.getByTestId("override").click();
      await look(page, "sheet-override");
      await page.getByTestId("close-sheet").click();
    }
    await next(page);
  }
  // "Admit" leaves the screen by itself and is the same in every theme, so it is checked once.
  expect(await typed(page, "LOOK-ADMIT")).toBe("admit");
  await still(page);
  found.push(...(await barriers(page)).map((barrier) => `admit ${barrier}`));
  await shot(page, "look-admit");
  await next(page);
  await page.getByTestId("open-history").click();
  await look(page, "history");
  await page.getByTestId("history-undo").first().click();
  await look(page, "sheet-undo");
  await page.getByTestId("close-sheet").click();
  const second = await phone.visit(`${admit.url}/scan/`);
  await second.getByTestId("other-tab").waitFor();
  await look(second, "other-tab");
  await ready(page);
  expect(found).toEqual([]);
  expect([...phone.errors, ...other.errors]).toEqual([]);
});

test("on the smallest screens what is next stays in sight, and Tab reaches nothing behind a verdict", async () => {
  const doors = await Doors.open(admit, [
    { barcode: "SMALL-VOID" },
    { barcode: "SMALL-PARTY", entry_limit: 12 },
  ]);
  await doors.change("SMALL-VOID", { status: "voided" });
  const phone = await phones.open({ name: "small", camera: "none", size: { width: 320, height: 480 } });
  const page = await doors.pair(phone, "north", "A device with a long name at the north gate");
  const inSight = (id: string) =>
    page.getByTestId(id).evaluate((button) => {
      const { top, bottom, left, right } = button.getBoundingClientRect();
      return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
    });
  for (const [width, height] of [[320, 480], [640, 320]] as const) {
    await page.setViewportSize({ width, height });
    expect(await typed(page, "SMALL-VOID")).toBe("refuse");
    expect(await inSight("next")).toBe(true);
    expect(await inSight("override")).toBe(true);
    await shot(page, `small-refuse-${width}`);
    for (let press = 0; press < 12; press += 1) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.closest('[data-testid="scan"]') === null)).toBe(true);
    }
    await next(page);
    expect(await typed(page, "SMALL-PARTY")).toBe("admit_party");
    for (const choice of ["count-0", "count-all"]) expect(await inSight(choice)).toBe(true);
    await shot(page, `small-party-${width}`);
    await page.getByTestId("count-0").click();
    await page.locator('[data-testid="verdict"][data-screen="nobody"]').waitFor();
    await next(page);
  }
});

test("the head of a long sheet stays while the rest scrolls", async () => {
  const codes = Array.from({ length: 9 }, (_, at) => ({ barcode: `LONG-${at}` }));
  const doors = await Doors.open(admit, codes);
  const phone = await phones.open({ name: "long", camera: "none", size: { width: 360, height: 560 } });
  const page = await doors.pair(phone, "north");
  for (const { barcode } of codes) {
    expect(await typed(page, barcode)).toBe("admit");
    await next(page);
  }
  await page.getByTestId("open-history").click();
  const sheet = page.getByTestId("sheet-history");
  const places = () =>
    sheet.evaluate((dialog) => {
      const box = (selector: string) => dialog.querySelector(selector)!.getBoundingClientRect();
      return { head: box("h2").top, close: box('[data-testid="close-sheet"]').top, edge: dialog.getBoundingClientRect().top };
    });
  const before = await places();
  const scrolled = await sheet.evaluate((dialog) => {
    dialog.scrollTop = dialog.scrollHeight;
    return dialog.scrollTop;
  });
  expect(scrolled).toBeGreaterThan(0);
  expect(await places()).toEqual(before);
  // Scrolled content is visible neither above the head nor through it, and stays a finger's width away from its button.
  const covered = await sheet.evaluate((dialog) => {
    const { left, right, top } = dialog.getBoundingClientRect();
    const bottom = dialog.querySelector('[data-testid="close-sheet"]')!.getBoundingClientRect().bottom;
    const head = dialog.querySelector(".head")!;
    const through: string[] = [];
    for (let y = top + 3; y < bottom + 14; y += 4) {
      const met = document.elementFromPoint((left + right) / 2, y);
      if (!head.contains(met)) through.push(`${y - top}: ${met?.outerHTML.slice(0, 80)}`);
    }
    return { through, ground: getComputedStyle(head).backgroundColor };
  });
  expect(covered.through).toEqual([]);
  expect(covered.ground).toMatch(/^rgb\(/);
  await look(page, "history-long");
  expect(found).toEqual([]);
  await page.getByTestId("close-sheet").click();
  await sheet.waitFor({ state: "detached" });
  expect(phone.errors).toEqual([]);
});

test("no button of the sync sheet moves while the scans go to the server", async () => {
  const doors = await Doors.open(admit, [{ barcode: "STAY-ONE" }]);
  const phone = await phones.open({ name: "stays", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "STAY-ONE")).toBe("admit");
  await next(page);
  await page.getByTestId("pill").click();
  const state = async () => (await page.getByTestId("sync-state").textContent()) ?? "";
  await until("the network's absence to be told", async () => /No network|did not answer/.test(await state()));
  await shot(page, "sheet-sync-waiting");
  // Notes the positions of the buttons at each change of the sheet. They must not move, because a tap may come at any time.
  await page.evaluate(() => {
    const places = new Set<string>();
    const look = () => {
      for (const id of ["close-sheet", "sync-now", "export"]) {
        const { top, left } = document.querySelector(`[data-testid="${id}"]`)!.getBoundingClientRect();
        places.add(`${id} ${left} ${top}`);
      }
    };
    look();
    const sheet = document.querySelector('[data-testid="sheet-sync"]')!;
    new MutationObserver(look).observe(sheet, { subtree: true, childList: true, characterData: true });
    Object.assign(window, { places });
  });
  await phone.context.setOffline(false);
  await page.getByTestId("sync-now").click();
  await until("all to be sent", async () => (await state()) === "All scans sent.");
  expect(await page.evaluate(() => [...(window as unknown as { places: Set<string> }).places])).toHaveLength(3);
  await shot(page, "sheet-sync-sent");
  expect(phone.errors).toEqual([]);
});
