// Scans of a draft are practice, a phone shows the event's end, and the mode `daily` works without a network.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { DESK, signIn } from "./organiser-kit.ts";
import { Doors, next, phoneBox, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

test("a draft is practised with, its doors open, and an event that ended lets nobody in without the PIN", async () => {
  const doors = await Doors.open(admit, [{ barcode: "DOOR-A" }, { barcode: "DOOR-B" }], { status: "draft" });
  const phone = await phones.open({ name: "practice", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.getByTestId("practice-banner").waitFor();
  await shot(page, "doors-practice-home");
  expect(await typed(page, "DOOR-A")).toBe("admit");
  expect(await page.getByTestId("practice").textContent()).toBe("Practice · nothing counts");
  expect(await barriers(page)).toEqual([]);
  await shot(page, "doors-practice-verdict");
  await synced(page);
  expect((await doors.occupancy()).inside).toBe(0);

  // The dialog that opens the doors names the practice scans, and the organiser does not count them.
  const desk = await phones.open({ name: "opening", camera: "none", size: DESK });
  const office = await desk.visit(`${admit.url}/events/${doors.id}/overview`);
  await signIn(office, admit);
  await office.getByTestId("go-live").click();
  await office.getByTestId("count-practice").waitFor();
  await shot(office, "doors-open-dialog");
  await office.getByTestId("confirm-yes").click();
  await page.getByTestId("practice-banner").waitFor({ state: "detached", timeout: 30_000 });
  expect(await page.getByTestId("own-admitted").textContent()).toBe("0");
  expect(await typed(page, "DOOR-A")).toBe("admit");
  expect(await page.getByTestId("practice").count()).toBe(0);
  await until("the entry at the server", async () => (await doors.occupancy()).inside === 1);

  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "ended" });
  // The message replaces the camera. Codes of a hardware scanner are still judged.
  const ended = page.locator('section[data-testid="ended-banner"]');
  await ended.waitFor({ timeout: 30_000 });
  expect(await ended.textContent()).toContain("Guests who leave can still be scanned out.");
  expect(await page.getByTestId("camera").getAttribute("inert")).not.toBeNull();
  expect(await barriers(page)).toEqual([]);
  expect(await typed(page, "DOOR-B")).toBe("ended");
  expect(await barriers(page)).toEqual([]);
  await shot(page, "doors-ended");
  await next(page);
  await page.getByTestId("ended-banner").waitFor();
  await shot(page, "doors-ended-home");
  await page.getByTestId("ended-admit").click();
  await ended.waitFor({ state: "detached" });
  expect(await page.getByTestId("ended-banner").textContent()).toContain("Admit anyway");
  expect(await page.getByTestId("camera").getAttribute("inert")).toBeNull();
  expect([...phone.errors, ...desk.errors]).toEqual([]);
});

test("two phones without a network let a daily ticket in once a day, and say when the next time is", async () => {
  const doors = await Doors.open(admit, [{ barcode: "DAY-A" }], { re_entry: "daily", time_zone: "Europe/Berlin" });
  const one = await phones.open({ name: "day-one", camera: "none" });
  const page = await doors.pair(one, "north");
  await one.context.setOffline(true);
  expect(await typed(page, "DAY-A")).toBe("admit");
  await next(page);
  const other = await phones.open({ name: "day-other", camera: "none" });
  const there = await doors.pair(other, "south");
  await one.context.setOffline(false);
  await synced(page);
  await until("the entry at the other phone", async () => (await typed(there, "DAY-A")) === "already_in");
  expect(await there.getByTestId("verdict").textContent()).toContain("One entry a day: the next one is tomorrow.");
  await shot(there, "doors-daily");
  expect((await doors.occupancy()).inside).toBe(1);
});
