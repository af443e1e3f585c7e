// The first steps of a person who has never seen Admit: an empty event, a spreadsheet, a phone, and the first guest on the page Live.
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, shot, until, workbook } from "./harness/index.ts";
import { DESK, signIn } from "./organiser-kit.ts";
import { hours, phoneBox, ready, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start();
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** Clicks and taps from the empty event to the first scan. */
const MOST_CLICKS = 10;

test("from an empty event to the first scan by name on Live in ten clicks", async () => {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(admit.url + path, {
      method,
      headers: { authorization: `Bearer ${admit.demo.api_token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok, `${method} ${path}`).toBe(true);
    return (await answer.json()) as T;
  };
  const event = await call<{ id: string; status: string }>("POST", "/api/events", { name: "First night", starts_at: hours(-1), ends_at: hours(8), time_zone: "Europe/Berlin" });
  expect(event.status).toBe("draft");
  const desk = await phones.open({ name: "newcomer", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${event.id}/overview`);
  await signIn(page, admit);
  let clicks = 0;
  const click = async (what: Locator): Promise<void> => {
    clicks += 1;
    await what.click();
  };

  // The checklist leads to the import.
  await click(page.getByTestId("check-guests").getByRole("link"));
  const chooser = page.waitForEvent("filechooser");
  await click(page.getByText("Choose a file", { exact: true }));
  const rows = Array.from({ length: 200 }, (_, at) => [`Guest ${at + 1}`, `guest${at + 1}@guests.example`, (at % 3) + 1]);
  const buffer = workbook("Gäste", [["Name", "E-Mail", "Personen"], ...rows]);
  await (await chooser).setFiles({ name: "Gästeliste.xlsx", mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", buffer });
  await until("the preview", async () => (await page.getByTestId("csv-import").textContent()) === "Import 200 guests");
  expect(await page.locator("main header p").first().textContent()).toBe("Gästeliste.xlsx · 200 rows · Excel, sheet “Gäste”");
  expect(await page.getByTestId("import-column").evaluateAll((all) => all.map((one) => one.getAttribute("data-meaning")))).toEqual(["name", "email", "party_size"]);
  await shot(page, "newcomer-preview");
  await click(page.getByTestId("csv-import"));

  // A phone is paired at the event's only gate.
  await click(page.getByTestId("import-pair"));
  await click(page.getByTestId("pair"));
  const link = await until("a pairing link", () => page.getByTestId("pairing-url").textContent());
  const phone = await phones.open({ name: "newcomer-phone", camera: "none" });
  const scanner = await phone.visit(link);
  await scanner.getByTestId("change-name").click();
  await scanner.getByTestId("device-name").fill("Ada's phone");
  await scanner.keyboard.press("Enter");
  await ready(scanner);
  await page.getByTestId("paired").waitFor();
  await click(page.getByTestId("pair-done"));

  // Doors open, and the first guest comes in under their name.
  await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Overview" }));
  await click(page.getByTestId("go-live"));
  await click(page.getByTestId("confirm-yes"));
  await until("open doors", async () => (await page.getByTestId("event-status").getAttribute("data-state")) === "live");
  await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Live" }));
  const { items } = await call<{ items: { id: string; guest: { name: string } }[] }>("GET", `/api/events/${event.id}/tickets?q=${encodeURIComponent("Guest 40")}`);
  const ticket = items.find((one) => one.guest.name === "Guest 40");
  const { barcode } = await call<{ barcode: string }>("POST", `/api/tickets/${ticket?.id}/code`);
  // Until the phone learns that doors are open, its scans are practice.
  await scanner.getByTestId("practice-banner").waitFor({ state: "detached" });
  await until("an open scanner that admits", async () => (await typed(scanner, barcode)) === "admit");
  await page.getByTestId("arrival").filter({ hasText: "Guest 40" }).waitFor();
  await shot(page, "newcomer-live");
  expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
  expect([...desk.errors, ...phone.errors]).toEqual([]);
});
