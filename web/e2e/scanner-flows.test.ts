// Actions of staff on the phone itself: gate and direction, the lock, the kiosk, the check before doors.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, hold, qrDataUrl, shot, show, until, wedge } from "./harness/index.ts";
import { Doors, next, phoneBox, PIN, ready, still, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

async function settings(page: Page): Promise<void> {
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
}
const gateName = (page: Page) => page.getByRole("heading", { level: 1 }).textContent();

test("the phone moves itself to another gate, without a network too, and the server follows", async () => {
  const doors = await Doors.open(admit, [{ barcode: "GATE-1" }, { barcode: "GATE-2" }]);
  await doors.call("POST", `/api/events/${doors.id}/gates`, { id: "side", name: "Side door", direction: "both" });
  const phone = await phones.open({ name: "gates", camera: "none" });
  const page = await doors.pair(phone, "north");
  expect(await typed(page, "GATE-1")).toBe("admit");
  await next(page);
  await synced(page);
  await phone.context.setOffline(true);
  await settings(page);
  await page.getByTestId("open-gate").click();
  expect(await page.getByTestId("gate-north").getAttribute("aria-pressed")).toBe("true");
  await page.getByTestId("gate-side").click();
  await page.locator('[data-testid="gate-side"][aria-pressed="true"]').waitFor();
  await page.getByTestId("way-out").check();
  expect(await barriers(page)).toEqual([]);
  await still(page);
  await shot(page, "scanner-gate");
  await page.getByTestId("close-sheet").click();
  expect(await gateName(page)).toBe("Side door");
  expect(await typed(page, "GATE-1")).toBe("exit");
  await next(page);
  await page.reload();
  await ready(page);
  expect(await gateName(page)).toBe("Side door");
  await phone.context.setOffline(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await synced(page);
  await until("the server to know", async () => {
    const { items } = await doors.call<{ items: { gate_id: string }[] }>("GET", `/api/events/${doors.id}/devices`);
    return items[0]?.gate_id === "side";
  });
  const { items } = await doors.call<{ items: { gate_id: string; kind: string }[] }>("GET", `/api/events/${doors.id}/scans?limit=20`);
  expect(items.filter((scan) => scan.kind === "exit").every((scan) => scan.gate_id === "side")).toBe(true);
  expect((await doors.occupancy()).exited).toBe(1);
  // The organiser moves the phone to another gate, and the phone tells staff.
  const { items: devices } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/devices`);
  await doors.call("PATCH", `/api/scanning/devices/${devices[0]?.id}`, { gate_id: "south" });
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.getByTestId("notice").filter({ hasText: "This phone scans at South now." }).waitFor();
  expect(await gateName(page)).toBe("South");
  expect(phone.errors).toEqual([]);
});

test("a gate that was removed is said over the whole screen, and another is one tap away", async () => {
  const doors = await Doors.open(admit, [{ barcode: "GONE-1" }]);
  await doors.call("POST", `/api/events/${doors.id}/gates`, { id: "tent", name: "Tent", direction: "in" });
  const phone = await phones.open({ name: "gone", camera: "none" });
  const page = await doors.pair(phone, "tent");
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/devices`);
  // The phone gets the new list, but not its move to another gate, because its heartbeats are blocked.
  for (const worker of page.workers()) {
    await worker.evaluate(() => {
      const real = self.fetch;
      self.fetch = (what, init) => (String(what).includes("/heartbeat") ? Promise.reject(new TypeError("lost")) : real(what, init));
    });
  }
  await doors.call("PATCH", `/api/scanning/devices/${items[0]?.id}`, { gate_id: "south" });
  await doors.call("DELETE", `/api/events/${doors.id}/gates/tent`);
  await page.getByTestId("gate-gone").waitFor({ timeout: 60_000 });
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-gate-gone");
  await page.getByTestId("gate-north").click();
  await ready(page);
  expect(await gateName(page)).toBe("North");
  expect(await typed(page, "GONE-1")).toBe("admit");
  expect(phone.errors).toEqual([]);
});

test("a locked screen scans nothing until the PIN is typed, over a reload too, and unsent scans go on to the server", async () => {
  const doors = await Doors.open(admit, [{ barcode: "LOCK-1" }, { barcode: "LOCK-2" }]);
  const phone = await phones.open({ name: "lock" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "LOCK-1")).toBe("admit");
  await next(page);
  await settings(page);
  await page.getByTestId("lock-now").click();
  await page.locator('[data-testid="lock"][data-unsent="1"]').waitFor();
  await wedge(page, "LOCK-2");
  await page.reload();
  await page.getByTestId("lock").waitFor();
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-lock");
  await phone.context.setOffline(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.locator('[data-testid="lock"][data-unsent="0"]').waitFor({ timeout: 60_000 });
  await page.getByTestId("guard-pin").fill("0000");
  await page.getByTestId("guard-open").click();
  await until("the refusal", async () => /Wrong PIN/.test((await page.getByTestId("guard-pin-problem").textContent()) ?? ""));
  await page.getByTestId("guard-pin").fill(PIN);
  await page.getByTestId("guard-open").click();
  await ready(page);
  expect((await doors.occupancy()).inside, "nothing was scanned while it was locked").toBe(1);
  expect(await typed(page, "LOCK-2")).toBe("admit");
  expect(phone.errors).toEqual([]);
});

test("guests hold their own codes to the kiosk: a party goes in whole, names stay hidden, the PIN leads out", async () => {
  const doors = await Doors.open(admit, [{ barcode: "KIOSK-1" }, { barcode: "KIOSK-4", entry_limit: 4 }, { barcode: "KIOSK-VOID" }]);
  await doors.change("KIOSK-VOID", { status: "voided" });
  const phone = await phones.open({ name: "kiosk", size: { width: 810, height: 1080 } });
  const page = await doors.pair(phone, "north");
  await settings(page);
  await page.getByTestId("start-kiosk").click();
  await page.getByTestId("kiosk").waitFor();
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  expect(await barriers(page)).toEqual([]);
  await shot(page, "scanner-kiosk");
  const verdict = (tone: string) => page.locator(`[data-testid="kiosk-verdict"][data-tone="${tone}"]`);
  await show(page, "KIOSK-4");
  await verdict("go").waitFor();
  expect(await verdict("go").textContent()).toContain("4 persons");
  await still(page);
  await shot(page, "scanner-kiosk-go");
  await show(page, "KIOSK-VOID");
  await verdict("stop").waitFor();
  await shot(page, "scanner-kiosk-stop");
  expect(await page.getByRole("button").count(), "the guest has no button but the way out for staff").toBe(1);
  await hold(page, null);
  await page.getByTestId("kiosk-verdict").waitFor({ state: "detached" });
  await show(page, "KIOSK-1");
  await verdict("go").waitFor();
  await until("five persons in", async () => (await doors.occupancy()).inside === 5);
  await page.keyboard.press("h");
  await page.reload();
  await page.getByTestId("kiosk").waitFor();
  expect(await page.getByTestId("sheet-history").count()).toBe(0);
  await page.getByTestId("kiosk-staff").click();
  await page.getByTestId("guard-pin").fill(PIN);
  await page.getByTestId("guard-open").click();
  await ready(page);
  expect(phone.errors).toEqual([]);
});

test("the check before doors reads a sample that counts nowhere, of a draft and of a live event", async () => {
  for (const status of ["draft", "live"]) {
    const doors = await Doors.open(admit, [{ barcode: `CHECK-${status}` }], { status });
    const phone = await phones.open({ name: `check-${status}` });
    const page = await doors.pair(phone, "north");
    await page.getByTestId("more").click();
    await page.getByTestId("open-check").click();
    await page.locator('[data-testid="check-list"][data-state="ok"]').waitFor();
    await page.locator('[data-testid="check-clock"][data-state="ok"]').waitFor();
    await page.locator(`[data-testid="check-event"][data-state="${status === "live" ? "ok" : "warn"}"]`).waitFor();
    expect(await page.getByTestId("check-camera").getAttribute("data-state")).toBe("warn");
    expect(await barriers(page)).toEqual([]);
    await still(page);
    await shot(page, `scanner-check-${status}`);
    // Another phone shows the sample to this one's camera.
    await hold(page, await qrDataUrl("admit-sample-ticket"));
    await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
    await shot(page, `scanner-sample-${status}`);
    await hold(page, null);
    await page.getByTestId("verdict").waitFor({ state: "detached" });
    await page.getByTestId("more").click();
    await page.getByTestId("open-check").click();
    expect(await page.getByTestId("check-camera").getAttribute("data-state")).toBe("ok");
    await page.getByTestId("sample-here").click();
    await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
    expect(await page.getByTestId("pill").getAttribute("data-unsent")).toBe("0");
    expect(await doors.scans()).toEqual([]);
    expect((await doors.occupancy()).entered).toBe(0);
    expect(phone.errors).toEqual([]);
  }
});
