// The page asks the browser not to translate it. If it is translated nevertheless, verdicts still change.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, shot, until } from "./harness/index.ts";
import { Doors, headline, next, phoneBox, typed, undo } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** Changes a page as Google Translate does: it replaces each text node by a clone in <font> elements. */
async function translate(page: Page): Promise<number> {
  return page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    while (walker.nextNode()) {
      const text = walker.currentNode as Text;
      if (text.data.trim() !== "" && !["SCRIPT", "STYLE", "NOSCRIPT"].includes(text.parentElement?.tagName ?? "")) texts.push(text);
    }
    for (const text of texts) {
      const [outer, inner] = [document.createElement("font"), document.createElement("font")];
      inner.append(text.cloneNode());
      outer.append(inner);
      text.replaceWith(outer);
    }
    return texts.length;
  });
}

test("the page asks browsers to leave it as it is", async () => {
  const phone = await phones.open({ name: "untranslated", camera: "none" });
  const page = await phone.visit(`${admit.url}/scan/`);
  expect(await page.evaluate(() => document.documentElement.translate)).toBe(false);
  expect(await page.locator('meta[name="google"]').getAttribute("content")).toBe("notranslate");
});

test("on a page that was translated all the same the verdict, the strip and the pill go on changing", async () => {
  const doors = await Doors.open(admit, [{ barcode: "FONT-ONE" }, { barcode: "FONT-VOID" }, { barcode: "FONT-PARTY", entry_limit: 4 }, { barcode: "FONT-FLAG" }]);
  await doors.change("FONT-VOID", { status: "voided" });
  const phone = await phones.open({ name: "translated", camera: "none" });
  const page = await doors.pair(phone, "north");
  const shows = (id: string, text: RegExp) =>
    until(`${id} to say ${text}`, async () => text.test((await page.getByTestId(id).textContent().catch(() => "")) ?? ""));
  expect(await translate(page)).toBeGreaterThan(5);

  expect(await typed(page, "FONT-ONE")).toBe("admit");
  await translate(page);
  await next(page);
  await shows("strip", /^\s*Admit/);
  await shows("own-admitted", /^1$/);
  await translate(page);
  await phone.context.setOffline(true);
  expect(await typed(page, "FONT-VOID")).toBe("refuse");
  expect(await headline(page)).toBe("Do not admit");
  await translate(page);
  await shows("pill", /Offline · 1/);
  await next(page);
  await shows("strip", /^\s*Do not admit/);
  expect(await page.getByTestId("strip").textContent(), "nothing of the last one is left").not.toMatch(/^\s*Admit/);
  await translate(page);

  // Staff can answer a question on a translated verdict.
  expect(await typed(page, "FONT-PARTY")).toBe("admit_party");
  await translate(page);
  await page.getByTestId("count-2").click();
  await until("the answer", async () => (await headline(page)) === "Admit 2");
  await translate(page);
  await next(page);
  await shows("strip", /Admit 2/);
  await translate(page);
  await shows("pill", /Offline · 2/);

  // The same ticket again: the shown age goes on. Then an undo on a translated strip.
  expect(await typed(page, "FONT-PARTY")).toBe("admit_party");
  await page.getByTestId("count-0").click();
  await page.locator('[data-testid="verdict"][data-screen="nobody"]').waitFor();
  await translate(page);
  await next(page);
  expect(await typed(page, "FONT-FLAG")).toBe("admit");
  await next(page);
  await translate(page);
  await undo(page);
  await shows("undone", /Undone/);
  expect(await page.getByTestId("strip").count()).toBe(0);
  await translate(page);

  // Sheets come and go.
  await page.getByTestId("open-history").click();
  await translate(page);
  await page.getByTestId("close-sheet").click();
  await page.getByTestId("sheet-history").waitFor({ state: "detached" });
  await phone.context.setOffline(false);
  await shows("pill", /^\s*Online$/);
  await shot(page, "scanner-translated");
  expect(phone.errors).toEqual([]);
});
