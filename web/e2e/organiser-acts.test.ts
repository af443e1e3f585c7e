// Actions of an organiser: nothing final happens at one click, messages appear where the person looks, and the focus goes on there.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, freshFolder, shot, until } from "./harness/index.ts";
import { DESK, eventStatus, fillMoment, goTo, moment, signIn, toastSays } from "./organiser-kit.ts";
import { Doors, next, phoneBox, synced, syncNow, typed } from "./scanner-kit.ts";

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
  const phone = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await phone.visit(admit.url + path);
  await signIn(page, admit);
  return page;
}
const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute("data-id") ?? document.activeElement?.tagName);

test("ending, archiving and voiding are asked about, and each page has its title", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ONLY" }], { name: "Asked" });
  const page = await desk(`/events/${doors.id}/gates`);
  await page.getByTestId("end-event").click();
  await page.getByTestId("confirm-no").click();
  expect(await eventStatus(page)).toBe("live");
  await page.getByTestId("end-event").click();
  await page.getByTestId("confirm-yes").click();
  await until("the event to be over", async () => (await eventStatus(page)) === "ended");
  // The button that ends the event is not in the place of the one that opened it.
  expect(await page.getByTestId("end-event").count()).toBe(0);
  await page.getByTestId("archive-event").click();
  expect(await page.getByTestId("confirm").textContent()).toContain("final");
  await shot(page, "organiser-archive-asked");
  await page.keyboard.press("Escape");
  expect(await eventStatus(page)).toBe("ended");
  expect(await page.title()).toBe("Gates and rules · Asked · Admit");

  await goTo(page, "Tickets");
  await page.getByTestId("ticket").click();
  const button = page.getByTestId("ticket-status");
  await button.click();
  await page.getByTestId("confirm-no").click();
  expect(await button.textContent()).toContain("Void");
  await button.click();
  await page.getByTestId("confirm-yes").click();
  await until("the ticket to be void", async () => (await button.textContent())?.includes("Restore"));
  expect(await page.getByTestId("ticket-standing").getAttribute("data-state")).toBe("voided");
  await page.getByTestId("ticket-close").click();
  // With the filters, the ticket is among the voided ones and not among those that can still be used.
  await page.getByTestId("chip-to_come").click();
  await page.getByTestId("no-ticket").waitFor();
  await page.getByTestId("chip-voided").click();
  await page.getByTestId("ticket").waitFor();
  expect(await page.title()).toBe("Tickets · Asked · Admit");

  await page.goto(`${admit.url}/nowhere`);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.goto(`${admit.url}/events/none-such`);
  await page.getByRole("link", { name: "All events" }).first().waitFor();
});

test("an event's times are those of its zone, and a wrong one is said at its field in words", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], {
    name: "Far away", time_zone: "Asia/Kathmandu", starts_at: "2027-01-10T14:15:00Z", ends_at: "2027-01-10T18:15:00Z",
  });
  const page = await desk(`/events/${doors.id}/gates`);
  await page.locator("#e-starts").waitFor();
  expect(await moment(page, "e-starts")).toBe("2027-01-10T20:00");
  await fillMoment(page, "e-ends", "2027-01-10T19:00");
  await page.getByTestId("save-event").click();
  await page.getByTestId("wrong-e-ends").waitFor();
  // The message has neither the API's field name nor its form of times.
  expect(await page.getByTestId("wrong-e-ends").textContent()).not.toMatch(/_at|\dT\d|Z\b/);
  await fillMoment(page, "e-ends", "2027-01-10T2330");
  await page.getByTestId("save-event").click();
  await until("it is saved", async () => (await page.getByTestId("said-event").textContent()) === "Saved.");
  const event = await doors.call<{ ends_at: string }>("GET", `/api/events/${doors.id}`);
  expect(Date.parse(event.ends_at)).toBe(Date.parse("2027-01-10T17:45:00Z"));
});

test("a gate is made, changed and removed; a name that is taken is said at its field", async () => {
  const doors = await Doors.open(admit, [], { name: "Gates" });
  const page = await desk(`/events/${doors.id}/gates`);
  const gates = () => page.getByTestId("gate").allTextContents();
  await page.getByTestId("add-gate").click();
  await page.getByTestId("gate-name").fill("north");
  await page.getByTestId("save-gate").click();
  await page.getByTestId("wrong-gate-name").filter({ hasText: "with this name already" }).waitFor();
  await page.getByTestId("gate-name").fill("日本");
  await page.getByTestId("save-gate").click();
  await until("the gate", async () => (await gates()).includes("日本"));
  const row = page.getByRole("row", { name: "日本" });
  await row.getByTestId("edit-gate").click();
  await page.getByTestId("gate-name").fill("Harbour side");
  await page.getByTestId("gate-names").uncheck();
  await page.getByTestId("save-gate").click();
  await until("its new name", async () => (await gates()).includes("Harbour side"));
  const { items } = await doors.call<{ items: { id: string; name: string; names_on_devices: boolean }[] }>("GET", `/api/events/${doors.id}/gates`);
  expect(items.find((gate) => gate.name === "Harbour side")).toMatchObject({ id: "gate-1", names_on_devices: false });
  await page.getByRole("row", { name: "Harbour side" }).getByTestId("edit-gate").click();
  await page.getByTestId("remove-gate").click();
  await page.getByTestId("confirm-yes").click();
  await until("the gate to be gone", async () => !(await gates()).includes("Harbour side"));
});

test("where people come again, nobody is said to be still to come", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANN" }, { barcode: "BO" }], { name: "In and out", re_entry: "after_exit" });
  const page = await desk(`/events/${doors.id}/live`);
  const title = page.getByTestId("entered-title");
  await title.waitFor();
  expect(await title.textContent()).toBe("Entries");
  expect(await page.getByTestId("entries-note").textContent()).toBe("2 expected");
  expect(await page.getByTestId("still-to-come").count()).toBe(0);
  await shot(page, "organiser-live-re-entry");
  await doors.call("PATCH", `/api/events/${doors.id}`, { re_entry: "never" });
  await page.reload();
  await page.getByTestId("still-to-come").waitFor();
  expect(await page.getByTestId("still-to-come").textContent()).toBe("2");
});

test("a table in an older encoding keeps its accents, and says what it left out", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Tables" });
  const page = await desk(`/events/${doors.id}/import`);
  const file = join(freshFolder("table"), "old.csv");
  const rows = "barcode,name,colour,party_size\nL-1,Jos\xe9\x92s,red,1\nL-2,Ana,red,many\n";
  writeFileSync(file, Buffer.from(rows, "latin1"));
  await page.getByTestId("csv-file").setInputFiles(file);
  await page.getByText("Windows\u20111252, commas").waitFor();
  expect(await page.getByTestId("import-column").filter({ hasText: "colour" }).getAttribute("data-meaning")).toBe("ignore");
  expect(await page.getByTestId("csv-result").textContent()).toContain("1 line with errors");
  await page.getByTestId("csv-import").click();
  await page.getByTestId("see-guests").waitFor();
  await goTo(page, "Tickets");
  await page.getByRole("cell", { name: "José’s", exact: true }).waitFor();
  await goTo(page, "Import");
  writeFileSync(file, 'barcode,name\n"L-3,Ana\n');
  await page.getByTestId("csv-file").setInputFiles(file);
  await page.getByTestId("csv-failure").waitFor();
  expect(await page.getByTestId("csv-failure").textContent()).toMatch(/^The file has a quote/);

  // A file that is no saved log is refused with one sentence.
  await goTo(page, "Devices");
  await page.getByTestId("open-upload").click();
  await page.getByTestId("log-file").setInputFiles(file);
  await page.getByTestId("import-log").click();
  await page.getByTestId("no-log").waitFor();
});

test("a review card tells the facts, keys decide, a decision can be taken back, and the focus goes on", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE-1" }, { barcode: "TWICE-2" }], { name: "Decide" });
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
  const ids = () => page.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  const [first, second] = await ids();
  // Each row has one sentence without ids, hashes or other texts for machines.
  const rows = (await cards.allTextContents()).join(" ");
  expect(rows).toMatch(/came in twice, \d+ (s|min) apart|came in twice at the same moment/);
  expect(rows).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|\d\.\d{3}|critical|±/);
  await page.keyboard.press("j");
  const detail = page.getByTestId("case-detail");
  await detail.waitFor();
  expect(await focused(page)).toBe(first);
  await until("the facts", async () => (await detail.textContent())?.includes("counted"));
  expect(await detail.getByTestId("incident-subject").textContent()).toMatch(/Ticket …E-\d/);
  expect(await detail.textContent()).toContain("North 1");
  await shot(page, "organiser-review-facts");

  await page.keyboard.press("x");
  await page.getByTestId("decided").waitFor();
  expect(await focused(page)).toBe(second);
  expect((await doors.occupancy()).open_incidents).toBe(2);
  await page.keyboard.press("z");
  await until("the card is back", async () => (await cards.count()) === 2);
  expect(await focused(page)).toBe(first);
  await page.keyboard.press("j");
  expect(await focused(page)).toBe(second);
  await page.keyboard.press("k");
  expect(await focused(page)).toBe(first);
  await page.keyboard.press("x");
  await page.keyboard.press("x");
  await page.getByTestId("queue-empty").waitFor();
  // Leaving the page records the held decision. The count in the navigation disappears with the cases.
  await goTo(page, "Live");
  await until("both are decided", async () => (await doors.occupancy()).open_incidents === 0);
  await page.getByTestId("review-count").waitFor({ state: "detached" });
  expect((await doors.occupancy()).inside_over).toBe(0);

  // One decision was wrong. The organiser takes it back long after the button Undo is gone, and the case waits again.
  await goTo(page, /Review/);
  await page.getByTestId("chip-decided").click();
  await until("both to be listed", async () => (await page.getByTestId("decided-one").count()) === 2);
  await shot(page, "organiser-decided");
  await page.getByTestId("take-back").first().click();
  await toastSays(page, "Taken back");
  await page.getByTestId("chip-open").click();
  await until("it to wait again", async () => (await cards.count()) === 1);
  expect((await doors.occupancy()).inside_over).toBe(1);

  // Several are decided at once.
  await page.getByTestId("chip-decided").click();
  // The list may show the case that was taken back for a moment longer.
  await until("one to be listed", async () => (await page.getByTestId("decided-one").count()) === 1);
  await page.getByTestId("take-back").first().click();
  await until("none to be listed", async () => (await page.getByTestId("decided-one").count()) === 0);
  await page.getByTestId("chip-open").click();
  await until("both to wait again", async () => (await cards.count()) === 2);
  for (const at of [0, 1]) await page.getByTestId("select-case").nth(at).check();
  await page.getByTestId("bulk-exclude").click();
  await toastSays(page, "2 cases decided");
  await page.getByTestId("queue-empty").waitFor();
  expect(await doors.occupancy()).toMatchObject({ open_incidents: 0, inside_over: 0 });

  // While the server is away, the app neither shows an empty list nor says that something was saved.
  await goTo(page, "Live");
  await page.getByTestId("inside").waitFor();
  await admit.kill("SIGTERM");
  await goTo(page, "Tickets");
  await page.getByTestId("tickets-failure").waitFor();
  expect(await page.getByTestId("no-ticket").count()).toBe(0);
  await goTo(page, "Gates and rules");
  await page.getByLabel("Place").fill("Elsewhere");
  await page.getByTestId("save-event").click();
  await page.getByRole("alert").filter({ hasText: "Not saved: the server can't be reached" }).waitFor();
  expect(await page.getByTestId("said-event").textContent()).toBe("");
});
