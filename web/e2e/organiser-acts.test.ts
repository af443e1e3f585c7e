// What an organiser does at a desk: nothing final at one click, every message where they look, the focus where they go on.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, freshFolder, shot, until } from "./harness/index.ts";
import { Doors, hours, next, phoneBox, synced, syncNow, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

async function desk(path: string): Promise<Page> {
  const phone = await phones.open({ name: "desk", camera: "none", size: { width: 1280, height: 800 } });
  const page = await phone.visit(admit.url + path);
  await page.getByTestId("email").fill(admit.demo.email);
  await page.getByTestId("password").fill(admit.demo.password);
  await page.getByTestId("sign-in").click();
  return page;
}
const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute("data-id") ?? document.activeElement?.tagName);

test("ending, archiving and voiding are asked about, and each page has its title", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ONLY" }], { name: "Asked" });
  const page = await desk(`/events/${doors.id}/setup`);
  const state = () => page.getByTestId("event-status").textContent();
  await page.getByTestId("end-event").click();
  await page.getByTestId("confirm-no").click();
  expect(await state()).toBe("live");
  await page.getByTestId("end-event").click();
  await page.getByTestId("confirm-yes").click();
  await until("the event to be over", async () => (await state()) === "ended");
  await page.getByTestId("archive-event").click();
  expect(await page.getByTestId("confirm").textContent()).toContain("final");
  await shot(page, "organiser-archive-asked");
  await page.keyboard.press("Escape");
  expect(await state()).toBe("ended");
  expect(await page.title()).toBe("Setup · Asked · Admit");

  await page.getByRole("link", { name: "Tickets" }).click();
  const button = page.getByTestId("ticket-status");
  await button.click();
  await page.getByTestId("confirm-no").click();
  expect(await button.textContent()).toContain("Void");
  await button.click();
  await page.getByTestId("confirm-yes").click();
  await until("the ticket to be void", async () => (await button.textContent())?.includes("Make good again"));
  expect(await page.title()).toBe("Tickets · Asked · Admit");

  await page.goto(`${admit.url}/nowhere`);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.goto(`${admit.url}/events/none-such`);
  await page.getByRole("link", { name: "All events" }).waitFor();
});

test("an event's times are those of its zone, and a wrong one is said at its field", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], {
    name: "Far away", time_zone: "Asia/Kathmandu", starts_at: "2027-01-10T14:15:00Z", ends_at: "2027-01-10T18:15:00Z",
  });
  const page = await desk(`/events/${doors.id}/setup`);
  await page.getByLabel("Starts").waitFor();
  expect(await page.getByLabel("Starts").inputValue()).toBe("2027-01-10T20:00");
  await page.getByLabel("Ends").fill("2027-01-10T19:00");
  await page.getByTestId("save-event").click();
  await page.getByTestId("wrong-e-ends").waitFor();
  expect(await page.getByTestId("wrong-e-ends").textContent()).not.toMatch(/_at/);
  await page.getByLabel("Ends").fill("2027-01-10T23:30");
  await page.getByTestId("save-event").click();
  await until("it is saved", async () => (await page.getByTestId("said-event").textContent()) === "Saved.");
  const event = await doors.call<{ ends_at: string }>("GET", `/api/events/${doors.id}`);
  expect(Date.parse(event.ends_at)).toBe(Date.parse("2027-01-10T17:45:00Z"));
  await page.getByTestId("gate-name").fill("日本");
  await page.getByTestId("add-gate").click();
  await page.getByRole("cell", { name: "日本", exact: true }).waitFor();
});

test("where people come again, nobody is said to be still to come", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANN" }, { barcode: "BO" }], { name: "In and out", re_entry: "after_exit" });
  const page = await desk(`/events/${doors.id}/live`);
  const title = page.getByTestId("entered-title");
  await title.waitFor();
  expect(await title.textContent()).toBe("Entries");
  await page.getByText("2 expected; whoever comes again counts again").waitFor();
  expect(await page.getByTestId("still-to-come").count()).toBe(0);
  await shot(page, "organiser-live-re-entry");
  await doors.call("PATCH", `/api/events/${doors.id}`, { re_entry: "never" });
  await page.reload();
  await page.getByTestId("still-to-come").waitFor();
  expect(await title.textContent()).toBe("Admitted");
  expect(await page.getByTestId("still-to-come").textContent()).toBe("2");
});

test("a table in an older encoding keeps its accents, and says what it left out", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Tables" });
  const page = await desk(`/events/${doors.id}/tickets`);
  const file = join(freshFolder("table"), "old.csv");
  const rows = "barcode,name,colour,party_size\nL-1,Jos\xe9\x92s,red,1\nL-2,Ana,red,many\n";
  writeFileSync(file, Buffer.from(rows, "latin1"));
  await page.getByTestId("csv-file").setInputFiles(file);
  await page.getByTestId("csv-legacy").waitFor();
  await page.getByTestId("csv-import").click();
  await page.getByTestId("csv-ignored").waitFor();
  expect(await page.getByTestId("csv-ignored").textContent()).toContain("colour");
  expect(await page.getByTestId("csv-result").textContent()).toContain("1 line with errors");
  await page.getByRole("cell", { name: "José’s", exact: true }).waitFor();
  writeFileSync(file, 'barcode,name\n"L-3,Ana\n');
  await page.getByTestId("csv-file").setInputFiles(file);
  await page.getByTestId("csv-check").click();
  await page.getByTestId("csv-failure").waitFor();
  expect(await page.getByTestId("csv-failure").textContent()).toMatch(/^The file has a quote/);
  expect(await page.getByTestId("tickets-failure").count()).toBe(0);

  // A file of another kind is refused in one sentence.
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByTestId("log-file").setInputFiles(file);
  await page.getByTestId("import-log").click();
  await page.getByTestId("no-log").waitFor();
});

test("a review card tells the facts, keys decide, a decision can be taken back, and the focus goes on", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE-1" }, { barcode: "TWICE-2" }], { name: "Decide", starts_at: hours(-30) });
  const [north, south] = [await phones.open({ name: "n", camera: "none" }), await phones.open({ name: "s", camera: "none" })];
  const [pageN, pageS] = [await doors.pair(north, "north", "North 1"), await doors.pair(south, "south", "South 1")];
  for (const phone of [north, south]) await phone.context.setOffline(true);
  for (const code of ["TWICE-1", "TWICE-2"]) {
    for (const page of [pageN, pageS]) {
      expect(await typed(page, code)).toBe("admit");
      await next(page);
    }
  }
  for (const phone of [north, south]) await phone.context.setOffline(false);
  for (const page of [pageN, pageS]) {
    await syncNow(page);
    await synced(page);
  }
  await until("two double entries", async () => (await doors.occupancy()).open_incidents === 2, { within: 60_000 });

  const page = await desk(`/events/${doors.id}/review`);
  const cards = page.getByTestId("incident");
  await until("two cards", async () => (await cards.count()) === 2);
  await until("the facts", async () => (await cards.first().getByTestId("incident-door").first().textContent())?.includes("opened"));
  expect(await cards.first().getByTestId("incident-subject").textContent()).toMatch(/TWICE-\d/);
  // It is not the event's first day: the date is told too.
  for (const time of await cards.getByTestId("incident-time").allTextContents()) expect(time).toMatch(/\b\d{4}\b.*\d\d:\d\d:\d\d.\d{3}/);
  await shot(page, "organiser-review-facts");

  const [first, second] = [await cards.nth(0).getAttribute("data-id"), await cards.nth(1).getAttribute("data-id")];
  await cards.nth(0).focus();
  await page.keyboard.press("v");
  await page.getByTestId("decided").waitFor();
  expect(await focused(page)).toBe(second);
  expect((await doors.occupancy()).open_incidents).toBe(2);
  await page.keyboard.press("u");
  await until("the card is back", async () => (await cards.count()) === 2);
  expect(await focused(page)).toBe(first);
  await page.keyboard.press("j");
  expect(await focused(page)).toBe(second);
  await page.keyboard.press("k");
  expect(await focused(page)).toBe(first);
  await page.keyboard.press("v");
  await page.keyboard.press("v");
  await page.getByTestId("queue-empty").waitFor();
  // Leaving the page records what was still to be taken back.
  await page.goto(`${admit.url}/events/${doors.id}/live`);
  await until("both are decided", async () => (await doors.occupancy()).open_incidents === 0);
  expect((await doors.occupancy()).inside_over).toBe(0);

  // One was the wrong card: it is taken back, long after Undo was gone, and waits again.
  await page.goto(`${admit.url}/events/${doors.id}/review`);
  await page.getByTestId("decided-list").locator("summary").click();
  await until("both to be listed", async () => (await page.getByTestId("decided-one").count()) === 2);
  await shot(page, "organiser-decided");
  await page.getByTestId("take-back").first().click();
  await until("it to wait again", async () => (await cards.count()) === 1);
  expect((await doors.occupancy()).inside_over).toBe(1);
  await page.getByTestId("decided-one").nth(1).waitFor({ state: "detached" });

  // With the server away an empty list is not claimed.
  await page.goto(`${admit.url}/events/${doors.id}/live`);
  await page.getByTestId("inside").waitFor();
  await admit.kill("SIGTERM");
  await page.getByRole("link", { name: "Tickets" }).click();
  await page.getByTestId("tickets-failure").waitFor();
  expect(await page.getByTestId("no-ticket").count()).toBe(0);
});
