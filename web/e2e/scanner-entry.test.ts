// The pairing link, codes typed by hand, and the focus in sheets.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { answered, Doors, headline, history, next, phoneBox, PIN, ready, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute("data-testid"));

test("without a camera and without a network a typed code admits, by the keyboard alone", async () => {
  const doors = await Doors.open(admit, [{ barcode: "QX-1234-5" }, { barcode: "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f" }]);
  const phone = await phones.open({ name: "by-hand", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.getByTestId("camera-fault").waitFor();
  expect(await page.getByTestId("strip-empty").textContent()).not.toContain("in front of the camera");
  await phone.context.setOffline(true);
  await page.keyboard.press("/");
  await page.getByTestId("sheet-search").waitFor();
  expect(await focused(page)).toBe("guest-search");
  expect(await barriers(page)).toEqual([]);
  // Typed as slowly as a person types, so that it is not taken for a hardware scanner.
  await page.keyboard.type("QX-1234-5", { delay: 200 });
  expect(await answered(page, () => page.keyboard.press("Enter"))).toBe("admit");
  expect(await page.getByTestId("verdict").getByTestId("provisional").textContent()).toBe("Stored, will sync");
  await next(page);
  // The last scan has an Undo button, and the history says that the scan is unsent.
  expect(await page.getByTestId("undo").getAttribute("aria-label")).toBe("Undo Admit");
  expect((await history(page)).map((row) => row.sync)).toEqual(["waiting"]);
  await page.getByTestId("pill").click();
  expect(await page.getByTestId("waiting-scan").count()).toBe(1);
  expect(await page.getByTestId("sheet-sync").textContent()).not.toMatch(/Up to date/);
  await page.keyboard.press("Escape");
  await page.getByTestId("sheet-sync").waitFor({ state: "detached" });
  await page.keyboard.press("u");
  await page.getByTestId("undone").waitFor();
  // A pass's code is too long to type, so people type its short code. Case and hyphen do not matter.
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/tickets?q=7d7e8b1c`);
  const { short_code: short } = await doors.call<{ short_code: string }>("POST", `/api/tickets/${items[0]?.id}/code`);
  expect(short).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
  await page.getByTestId("search").click();
  await page.getByTestId("sheet-search").waitFor();
  await page.keyboard.type(short.toLowerCase().replace("-", " "), { delay: 200 });
  expect(await answered(page, () => page.keyboard.press("Enter"))).toBe("admit");
  expect(phone.errors).toEqual([]);
});

test("what was stored turns into confirmed on the screen once the server has it, and no button moves", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TURNS-GREEN" }, { barcode: "TURNS-VOID" }]);
  await doors.change("TURNS-VOID", { status: "voided" });
  const phone = await phones.open({ name: "turns", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "TURNS-VOID")).toBe("refuse");
  const place = () => page.getByTestId("next").boundingBox();
  const before = await place();
  expect(await page.getByTestId("provisional").count()).toBe(1);
  await phone.context.setOffline(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.getByTestId("confirmed").waitFor({ timeout: 60_000 });
  expect(await page.getByTestId("provisional").count()).toBe(0);
  expect(await place()).toEqual(before);
  expect(phone.errors).toEqual([]);
});

test("a link names event, gate and device, one tap pairs, and a reload keeps it until it was used", async () => {
  const doors = await Doors.open(admit, [{ barcode: "LINK-ONE" }], { name: "Harbour Lights" });
  const phone = await phones.open({ name: "link", camera: "none" });
  const page = await phone.visit(`${admit.url}/scan/#pair=`);
  await page.getByTestId("bad-link").waitFor();
  await page.goto("about:blank");
  await page.goto(await doors.link("north"));
  await page.getByTestId("pair-place").waitFor();
  expect(page.url(), "no token is left in the address").not.toContain("pair=");
  await page.reload();
  await page.getByTestId("pair-place").waitFor();
  expect(await page.getByTestId("bad-link").count()).toBe(0);
  const place = await page.getByTestId("pair-place").textContent();
  expect([place?.includes("North"), place?.includes("Harbour Lights")]).toEqual([true, true]);
  expect(await page.getByTestId("pair-submit").textContent()).toBe("Pair as North 1");
  expect(await page.locator("input:visible").count(), "nobody's name is asked for").toBe(0);
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-pair-link");
  await page.getByTestId("pair-submit").click();
  await ready(page);
  await page.reload();
  await ready(page);
  expect(await page.getByTestId("pair").count(), "a link that was used is gone").toBe(0);
  const { items } = await doors.call<{ items: { name: string }[] }>("GET", `/api/events/${doors.id}/devices`);
  expect(items.map((device) => device.name)).toEqual(["North 1"]);
  expect(phone.errors).toEqual([]);
});

test("phones that read one sheet at once each get a name of their own", async () => {
  const doors = await Doors.open(admit, [{ barcode: "SHEET" }]);
  const wish = { gate_id: "south", uses: 2, minutes: 600 };
  const { url } = await doors.call<{ url: string }>("POST", `/api/events/${doors.id}/pairing-tokens`, wish);
  const pages: Page[] = [];
  for (const name of ["sheet-1", "sheet-2"]) pages.push(await (await phones.open({ name, camera: "none" })).visit(url));
  for (const page of pages) expect(await page.getByTestId("pair-submit").textContent()).toMatch(/Pair as/);
  for (const page of pages) await until("the name", async () => (await page.getByTestId("pair-submit").textContent()) === "Pair as South 1");
  for (const page of pages) {
    await page.getByTestId("pair-submit").click();
    await ready(page);
  }
  const { items } = await doors.call<{ items: { name: string }[] }>("GET", `/api/events/${doors.id}/devices`);
  expect(items.map((device) => device.name).sort()).toEqual(["South 1", "South 2"]);
  const second = pages[1];
  await second?.getByTestId("more").click();
  await second?.getByTestId("open-settings").click();
  expect(await second?.getByTestId("sheet-settings").textContent()).toContain("South 2");
});

test("a link that was used, is unknown or meets no network says which, with what to do", async () => {
  const doors = await Doors.open(admit, [{ barcode: "OLD-LINK" }]);
  const link = await doors.link("north");
  const first = await phones.open({ name: "first", camera: "none" });
  const paired = await first.visit(link);
  await paired.getByTestId("pair-submit").click();
  await ready(paired);
  const phone = await phones.open({ name: "old-link", camera: "none" });
  const page = await phone.visit(link);
  await page.locator('[data-testid="pair-place-error"][data-state="used"]').waitFor();
  expect(await page.getByTestId("pair").textContent()).toContain("Ask the organiser for a new code.");
  expect(await page.getByTestId("pair-submit").count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-old-link");
  await page.getByTestId("pair-another").click();
  await page.getByTestId("pair-code").fill("admit_pt_0000000000000000000000000000000000000000000");
  await page.locator('[data-testid="pair-place-error"][data-state="unknown"]').waitFor();
  await page.getByTestId("pair-another").click();
  await phone.context.setOffline(true);
  await page.getByTestId("pair-code").fill(await doors.link("south"));
  await page.locator('[data-testid="pair-place-error"][data-state="silent"]').waitFor();
  await phone.context.setOffline(false);
  await page.getByTestId("pair-look-again").click();
  await page.getByTestId("pair-place").waitFor();
  expect(phone.errors).toEqual([]);
});

test.each([
  ["an iPhone", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 Version/18.4 Mobile Safari/604.1", /^iPhone \d\d$/, /Tap Share/, "ios"],
  ["an Android phone", "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", /^Phone \d\d$/, /Install as an app|browser's menu/, "android"],
] as const)("%s is told how to put the scanner on its home screen before it is paired", async (_, agent, name, step, picture) => {
  const phone = await phones.open({ name: "install", camera: "none", flags: [`--user-agent=${agent}`] });
  const page = await phone.visit(`${admit.url}/scan/`);
  expect(await page.getByTestId("install-hint").textContent()).toMatch(step);
  await page.getByTestId("change-name").click();
  expect(await page.getByTestId("device-name").inputValue()).toMatch(name);
  expect(await barriers(page)).toEqual([]);
  await shot(page, `scanner-install-${picture}`);
});

test("the staff PIN has the focus, a reason takes one tap, and a known name is not asked for", async () => {
  const doors = await Doors.open(admit, [{ barcode: "PIN-VOID" }]);
  await doors.change("PIN-VOID", { status: "voided" });
  const phone = await phones.open({ name: "pin", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.getByTestId("shift").click();
  await page.locator("#operator").fill("Ana");
  await page.locator("#operator").press("Enter");
  await page.keyboard.press("Escape");
  await page.getByTestId("sheet-more").waitFor({ state: "detached" });
  expect(await typed(page, "PIN-VOID")).toBe("refuse");
  await page.getByTestId("override").click();
  await page.getByTestId("sheet-override").waitFor();
  expect(await focused(page)).toBe("pin");
  expect(await page.getByTestId("override-by").count()).toBe(0);
  await page.keyboard.type(PIN, { delay: 130 });
  await page.getByTestId("reason-1").check();
  expect(await answered(page, () => page.getByTestId("override-submit").click())).toBe("admit");
  expect(await headline(page)).toBe("Admit");
  expect(phone.errors).toEqual([]);
});

test("text at 200 % cuts no button on a small phone, and the left hand has its buttons at the left", async () => {
  const doors = await Doors.open(admit, [{ barcode: "BIG-TEXT" }]);
  const phone = await phones.open({ name: "large", camera: "none", size: { width: 320, height: 568 } });
  const page = await doors.pair(phone, "north");
  await page.evaluate(() => localStorage.setItem("admit-settings", JSON.stringify({ textSize: 200, hand: "left", theme: "contrast" })));
  await page.reload();
  await ready(page);
  expect(await typed(page, "BIG-TEXT")).toBe("admit");
  await next(page);
  for (const id of ["search", "open-history", "more", "undo", "pill"]) {
    const cut = await page.getByTestId(id).evaluate((button) => {
      const { top, bottom, left, right, height } = button.getBoundingClientRect();
      return top < 0 || left < 0 || bottom > innerHeight || right > innerWidth || button.scrollWidth > button.clientWidth + 1 || height < 55;
    });
    expect(cut, id).toBe(false);
  }
  const left = async (id: string) => (await page.getByTestId(id).boundingBox())?.x ?? 0;
  expect(await left("undo")).toBeLessThan(60);
  expect(await left("more")).toBeLessThan(await left("search"));
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-large-left");
  await until("the size to hold", async () => (await page.evaluate(() => getComputedStyle(document.documentElement).fontSize)) === "34px");
  expect(phone.errors).toEqual([]);
});
