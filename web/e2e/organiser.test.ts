// The organiser's screens: nobody is kept out by how they look, by day and by night, on a desk and on a phone.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { Doors, next, phoneBox, still, synced, syncNow, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const DESK = { width: 1280, height: 800 };
const found: string[] = [];

// What ends on the screen does not scroll.
async function scrollsForNothing(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const end = document.querySelector("main")?.getBoundingClientRect().bottom ?? clientHeight;
    return scrollHeight > clientHeight && end < clientHeight;
  });
}

async function look(page: Page, name: string): Promise<void> {
  if (await scrollsForNothing(page)) found.push(`${name} scrolls, and all of it is on the screen`);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await still(page);
    found.push(...(await barriers(page)).map((barrier) => `${name} (${scheme}) ${barrier}`));
    await shot(page, `organiser-${name}-${scheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  await still(page);
  found.push(...(await barriers(page)).map((barrier) => `${name} (phone) ${barrier}`));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) found.push(`${name} is ${wide} px too wide for a phone`);
  await shot(page, `organiser-${name}-phone`);
  await page.setViewportSize(DESK);
}

test("no screen of the organiser has a barrier, by day and by night", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE" }, { barcode: "ONCE" }], { name: "Harbour night", capacity: 500 });
  // One ticket at two gates while the server is away: something to review.
  const [north, south] = [await phones.open({ name: "n", camera: "none" }), await phones.open({ name: "s", camera: "none" })];
  const [pageN, pageS] = [await doors.pair(north, "north", "North 1"), await doors.pair(south, "south", "South 1")];
  await admit.kill("SIGKILL");
  for (const code of ["TWICE", "ONCE"]) expect(await typed(pageN, code)).toBe("admit");
  expect(await typed(pageS, "TWICE")).toBe("admit");
  await admit.restart();
  for (const page of [pageN, pageS]) {
    await next(page);
    await syncNow(page);
    await synced(page);
  }
  await until("the double entry", async () => (await doors.occupancy()).open_incidents > 0, { within: 60_000 });

  const desk = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await desk.visit(admit.url);
  await page.getByTestId("sign-in").waitFor();
  await look(page, "sign-in");
  await page.getByTestId("email").fill(admit.demo.email);
  await page.getByTestId("password").fill("not the password");
  await page.getByTestId("sign-in").click();
  await page.getByRole("alert").waitFor();
  await look(page, "sign-in-refused");
  await page.getByTestId("password").fill(admit.demo.password);
  await page.getByTestId("sign-in").click();
  await page.getByTestId("new-event").waitFor();
  await page.getByRole("link", { name: "Harbour night" }).waitFor();
  await look(page, "events");
  await page.getByTestId("new-event").click();
  await look(page, "new-event");
  await page.getByRole("link", { name: "Harbour night" }).click();
  await until("two persons in", async () => (await page.getByTestId("inside").textContent()) === "2");
  await look(page, "live");
  await page.getByRole("link", { name: /Review/ }).first().click();
  await page.getByTestId("incident").waitFor();
  await look(page, "review");
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByTestId("pair").click();
  await page.getByTestId("pairing-url").waitFor();
  await look(page, "devices");
  await page.getByRole("link", { name: "Tickets" }).click();
  await page.getByRole("cell", { name: "ONCE", exact: true }).waitFor();
  await look(page, "tickets");
  await page.getByRole("link", { name: "Setup" }).click();
  await page.getByTestId("gate-name").waitFor();
  await look(page, "setup");
  expect(found).toEqual([]);
  for (const phone of [desk, north, south]) expect(phone.errors).toEqual([]);
});
