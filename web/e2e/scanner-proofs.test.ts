// The scanner tests of experience §12 that no other file has. They are about two codes in view, a code that stays in view,
// inverted colours, a search in 20,000 guests, and every screen mirrored with text at 200 %.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, hold, qrDataUrl, shot, show, until } from "./harness/index.ts";
import { Doors, next, phoneBox, ready, still, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** Draws these pictures side by side, or one picture with inverted colours. */
function drawn(page: Page, urls: readonly string[], inverted: boolean): Promise<string> {
  return page.evaluate(
    async ({ urls, inverted }) => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 480;
      const pen = canvas.getContext("2d");
      if (pen === null) throw new Error("no canvas");
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, 480, 480);
      const side = 480 / urls.length;
      for (const [at, url] of urls.entries()) {
        const image = new Image();
        image.src = url;
        await image.decode();
        pen.drawImage(image, at * side, (480 - side) / 2, side, side);
      }
      if (inverted) {
        pen.globalCompositeOperation = "difference";
        pen.fillRect(0, 0, 480, 480);
      }
      return canvas.toDataURL();
    },
    { urls, inverted },
  );
}

test("of two codes in view none is taken, a code that stays in view is one verdict, and a recoloured one is read", async () => {
  const doors = await Doors.open(admit, [{ barcode: "VIEW-1" }, { barcode: "VIEW-2" }, { barcode: "VIEW-DARK" }]);
  const phone = await phones.open({ name: "view" });
  const page = await doors.pair(phone, "north");
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  await hold(page, await drawn(page, [await qrDataUrl("VIEW-1"), await qrDataUrl("VIEW-2")], false));
  await until("the word about one ticket", async () => (await page.getByTestId("announcement").textContent()) === "One ticket at a time");
  expect(await page.getByTestId("verdict").count()).toBe(0);
  await show(page, "VIEW-1");
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  const since = Date.now();
  let most = 1;
  await until(
    "ten seconds with the same code in view",
    async () => {
      const rows = await page.evaluate(() => performance.getEntriesByName("decode→verdict painted").length);
      most = Math.max(most, rows);
      return Date.now() - since > 10_000;
    },
    { every: 250 },
  );
  expect(most, "one presence is one verdict").toBe(1);
  // A mail client's dark mode has inverted the picture's colours.
  await hold(page, await drawn(page, [await qrDataUrl("VIEW-DARK")], true));
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await hold(page, null);
  await synced(page);
  expect((await doors.occupancy()).inside).toBe(2);
  expect(phone.errors).toEqual([]);
});

test("a guest among 20,000 is found while the name is typed, without a network", async () => {
  const { event_id, gates, api_token } = admit.demo;
  const auth = { authorization: `Bearer ${api_token}` };
  const patch = { method: "PATCH", headers: { ...auth, "content-type": "application/json" }, body: JSON.stringify({ names_on_devices: true }) };
  expect((await fetch(`${admit.url}/api/events/${event_id}/gates/${gates[0]}`, patch)).ok).toBe(true);
  const made = await fetch(`${admit.url}/api/events/${event_id}/pairing-tokens`, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json" },
    body: JSON.stringify({ gate_id: gates[0] }),
  });
  const { url } = (await made.json()) as { url: string };
  const guests = (await (await fetch(`${admit.url}/api/events/${event_id}/guests?limit=5`, { headers: auth })).json()) as { items: { name: string }[] };
  const wanted = guests.items[0]?.name ?? "";
  const phone = await phones.open({ name: "many", camera: "none" });
  const page = await phone.visit(url);
  await page.getByTestId("pair-submit").click();
  await ready(page);
  await page.locator('[data-testid="search"][data-names="held"]').waitFor({ timeout: 60_000 });
  await phone.context.setOffline(true);
  await page.getByTestId("search").click();
  await page.getByTestId("guest-search").fill(wanted);
  await until("the guest", async () => ((await page.getByTestId("found").first().textContent()) ?? "").includes(wanted));
  await page.getByTestId("guest-search").fill("zzzzqqq");
  await page.getByTestId("nobody-found").waitFor();
  expect(phone.errors).toEqual([]);
});

test("mirrored and at 200 % no screen of the scanner has a barrier or is wider than the phone, by night and by day", async () => {
  const doors = await Doors.open(admit, [{ barcode: "RTL-1" }, { barcode: "RTL-4", entry_limit: 4 }, { barcode: "RTL-VOID" }]);
  await doors.change("RTL-VOID", { status: "voided" });
  const phone = await phones.open({ name: "mirrored", camera: "none" });
  await phone.context.addInitScript(() => {
    addEventListener("DOMContentLoaded", () => (document.documentElement.dir = "rtl"));
  });
  let page = await doors.pair(phone, "north");
  const wrong: string[] = [];
  const look = async (name: string) => {
    await still(page);
    for (const one of await barriers(page)) wrong.push(`${name}: ${one}`);
    const wide = await page.evaluate(() => (document.scrollingElement?.scrollWidth ?? 0) - innerWidth);
    if (wide > 0) wrong.push(`${name}: ${wide} px wider than the phone`);
    await shot(page, `scanner-rtl-${name}`);
  };
  for (const theme of ["night", "light"]) {
    await page.evaluate((theme) => localStorage.setItem("admit-settings", JSON.stringify({ textSize: 200, theme })), theme);
    await page.reload();
    await ready(page);
    await look(`home-${theme}`);
    for (const sheet of ["check", "settings", "sync"]) {
      await page.getByTestId("more").click();
      if (sheet === "check") await look(`more-${theme}`);
      await page.getByTestId(sheet === "sync" ? "sync" : `open-${sheet}`).click();
      await look(`${sheet}-${theme}`);
      if (sheet === "settings") {
        await page.getByTestId("open-gate").click();
        await look(`gate-${theme}`);
      }
      await page.getByTestId("close-sheet").click();
    }
    expect(await typed(page, "RTL-VOID")).toBe("refuse");
    await look(`refuse-${theme}`);
    await next(page);
    if (theme === "night") {
      expect(await typed(page, "RTL-4")).toBe("admit_party");
      await look("party");
      await page.getByTestId("count-all").click();
      await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
    } else {
      expect(await typed(page, "RTL-1")).toBe("admit");
    }
    await look(`admit-${theme}`);
    await next(page);
    await page.evaluate(() => localStorage.setItem("admit-settings", JSON.stringify({ ...JSON.parse(localStorage.getItem("admit-settings") ?? "{}"), locked: true })));
    await page.reload();
    await page.getByTestId("lock").waitFor();
    await look(`lock-${theme}`);
  }
  await page.close();
  page = await (await phones.open({ name: "mirrored-new", camera: "none" })).visit(await doors.link("north"));
  await page.evaluate(() => {
    document.documentElement.dir = "rtl";
    document.documentElement.style.setProperty("--text-scale", "2");
  });
  await page.getByTestId("pair-place").waitFor();
  await look("pair");
  expect(wrong).toEqual([]);
  expect(phone.errors).toEqual([]);
});
