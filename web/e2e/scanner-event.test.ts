// Settings of the event for phones: its time zone, and which fields of a guest a verdict shows.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { DESK, goTo, look, signIn, toastSays } from "./organiser-kit.ts";
import { Doors, next, phoneBox, still, syncNow, synced, typed, undo } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** All minutes of a span in a time zone, each as `19:42`. A test cannot know in which one something happened. */
function minutes(zone: string, from: number, to: number): string[] {
  const shown = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone });
  const all: string[] = [];
  for (let at = from; at < to + 60_000; at += 60_000) all.push(shown.format(at));
  return all;
}

test("every time on the phone is the event's, wherever the phone's own clock is set", async () => {
  const [event, here] = ["Asia/Kathmandu", "America/New_York"];
  const doors = await Doors.open(admit, [{ barcode: "CLOCK-ONE" }], { time_zone: event });
  const phone = await phones.open({ name: "clock", zone: here });
  const page = await doors.pair(phone, "north");
  expect(await page.evaluate(() => new Date().getTimezoneOffset())).toBeGreaterThan(200);
  const from = Date.now();
  /** Checks that a text has a time since the test's start in the event's zone, and none in the phone's zone. */
  const tells = (text: string | null) => {
    const to = Date.now();
    expect(minutes(event, from, to).some((minute) => text?.includes(minute)), `${text}: ${minutes(event, from, to).join()}`).toBe(true);
    expect(minutes(here, from, to).filter((minute) => text?.includes(minute)), `${text}`).toEqual([]);
  };
  expect(await typed(page, "CLOCK-ONE")).toBe("admit");
  await synced(page);
  await next(page);
  const other = await doors.pair(await phones.open({ name: "clock-2", zone: "Pacific/Auckland" }), "south");
  expect(await typed(other, "CLOCK-ONE")).toBe("already_in");
  tells(await other.getByTestId("verdict").textContent());
  await shot(other, "event-clock-verdict");
  await page.getByTestId("open-history").click();
  tells(await page.getByTestId("history-row").first().textContent());
  await shot(page, "event-clock-history");
  await page.getByTestId("close-sheet").click();
  await page.getByTestId("pill").click();
  tells(await page.getByTestId("sheet-sync").textContent());
  await shot(page, "event-clock-sync");
  expect(phone.errors).toEqual([]);
});

/** Signs in, and opens a page of the event. */
async function organise(doors: Doors, page: string): Promise<Page> {
  const desk = await phones.open({ name: `desk-${page}`, camera: "none", size: DESK });
  const opened = await desk.visit(`${admit.url}/events/${doors.id}/${page}`);
  await opened.getByTestId("sign-in").waitFor();
  await signIn(opened, admit);
  return opened;
}

test("a column of a list becomes a field, the organiser chooses it for the door, and a verdict shows it until it is gone", async () => {
  const doors = await Doors.open(admit, []);
  const desk = await organise(doors, "import");
  const file = "Code,Guest,Firma,Which table do you want to sit at\nFIELD-1,Ana Field,ACME GmbH & Sons International Holding AG,7\nFIELD-2,Bo Plain,,\n";
  await desk.getByTestId("csv-file").setInputFiles({ name: "fields.csv", mimeType: "text/csv", buffer: Buffer.from(file) });
  const column = (header: string) => desk.getByTestId("import-column").filter({ has: desk.getByText(header, { exact: true }) });
  await column("Firma").getByTestId("import-meaning").selectOption("field");
  await column("Which table do you want to sit at").getByTestId("import-meaning").selectOption("field");
  const name = column("Which table do you want to sit at").getByTestId("import-field-name");
  await until("the cut name", async () => (await name.inputValue()) === "Which table do you want");
  await name.fill("Table");
  await name.blur();
  const button = desk.getByTestId("csv-import");
  await until("the import", async () => (await button.textContent()) === "Import 2 guests" && (await button.isEnabled()));
  const found = await look(desk, "import-fields");
  await desk.getByTestId("csv-import").click();
  await until("the guests", async () => (await doors.call<{ items: unknown[] }>("GET", `/api/events/${doors.id}/guests`)).items.length === 2);

  await goTo(desk, "Gates and rules");
  await desk.locator("#at-door-known option").first().waitFor({ state: "attached" });
  expect(await desk.locator("#at-door-known option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))).toEqual(["Firma", "Table"]);
  await desk.getByTestId("verdict-field-0").fill("Table");
  await desk.getByTestId("verdict-field-1").fill("Firma");
  found.push(...(await look(desk, "gates-at-door")));
  expect(found).toEqual([]);
  await desk.getByTestId("save-at-door").click();
  await toastSays(desk, "Phones do so after their next sync.");

  const phone = await phones.open({ name: "fields" });
  // "Admit" leaves the screen after 1.5 s, which is too short for three pictures and axe.
  await phone.context.addInitScript(() => {
    const later = window.setTimeout;
    window.setTimeout = ((act: () => void, ms?: number) => later(act, ms === 1_500 ? 60_000 : ms)) as typeof setTimeout;
  });
  const page = await doors.pair(phone, "north");
  const fields = async () => {
    const pairs = page.getByTestId("guest-fields").locator("div");
    return pairs.evaluateAll((all) => all.map((one) => [...one.children].map((part) => part.textContent).join(": ")));
  };
  await page.getByTestId("search").click();
  await until("the names", async () => {
    await page.getByTestId("guest-search").fill("ana");
    return (await page.getByTestId("found").count()) > 0;
  });
  await page.getByTestId("close-sheet").click();
  expect(await typed(page, "FIELD-1")).toBe("admit");
  expect(await fields()).toEqual(["Table: 7", "Firma: ACME GmbH & Sons International Holding …"]);
  await still(page);
  await shot(page, "verdict-fields");
  expect(await barriers(page)).toEqual([]);
  for (const [width, height, size] of [[320, 568, "small"], [780, 390, "landscape"]] as const) {
    await page.setViewportSize({ width, height });
    await shot(page, `verdict-fields-${size}`);
    expect(await page.getByTestId("next").isVisible()).toBe(true);
  }
  await page.setViewportSize({ width: 390, height: 780 });
  await next(page);
  // A repeated code shows no fields. After an undo the guest comes as if for the first time.
  await undo(page);
  expect(await typed(page, "FIELD-2")).toBe("admit");
  expect(await page.getByTestId("guest-fields").count(), "a guest without any").toBe(0);
  await next(page);

  // An organiser changes a field in the guest's drawer and removes it. The phone gets that with the names part.
  await goTo(desk, "Guests");
  await desk.getByText("Ana Field").first().click();
  await desk.getByTestId("edit-field-value").nth(1).fill("8");
  await desk.getByTestId("edit-field-name").first().fill("");
  await desk.getByTestId("add-field").click();
  await desk.getByTestId("edit-field-name").nth(2).fill("Wristband");
  await desk.getByTestId("edit-field-value").nth(2).fill("Gold");
  await shot(desk, "guest-fields");
  await desk.getByTestId("edit-save").click();
  await desk.getByTestId("guest-done").waitFor();
  const { items } = await doors.call<{ items: { name: string; fields: Record<string, string> }[] }>("GET", `/api/events/${doors.id}/guests`);
  expect(items.find((guest) => guest.name === "Ana Field")?.fields).toEqual({ Table: "8", Wristband: "Gold" });
  await until("the phone to know", async () => {
    await syncNow(page);
    expect(await typed(page, "FIELD-1")).toBe("admit");
    const now = await fields();
    await next(page);
    await undo(page);
    return JSON.stringify(now) === JSON.stringify(["Table: 8"]);
  }, { within: 60_000 });
  expect(phone.errors).toEqual([]);
});

test("codes that are all EAN-13 are told at the import, and one press makes the event's cameras read them", async () => {
  const doors = await Doors.open(admit, []);
  const desk = await organise(doors, "import");
  const file = "Code,Guest\n4006381333931,Ana\n9780306406157,Bo\n";
  await desk.getByTestId("csv-file").setInputFiles({ name: "ean.csv", mimeType: "text/csv", buffer: Buffer.from(file) });
  await desk.getByTestId("import-kinds").waitFor();
  await until("the import", () => desk.getByTestId("csv-import").isEnabled());
  expect(await look(desk, "import-kinds")).toEqual([]);
  const kinds = async () => (await doors.call<{ barcode_kinds: string[] }>("GET", `/api/events/${doors.id}`)).barcode_kinds;
  expect(await kinds(), "nothing is changed by itself").toEqual([]);
  await desk.getByTestId("import-read-kinds").click();
  await toastSays(desk, "Cameras read EAN-13 after their next sync.");
  await desk.getByTestId("import-kinds").waitFor({ state: "detached" });
  expect(await kinds()).toEqual(["ean_13"]);
  await goTo(desk, "Gates and rules");
  expect(await desk.getByTestId("kind-ean_13").isChecked()).toBe(true);
  await desk.getByTestId("kind-ean_13").uncheck();
  await desk.getByTestId("kind-code_128").check();
  await desk.getByTestId("save-at-door").click();
  await toastSays(desk, "Phones do so after their next sync.");
  expect(await kinds()).toEqual(["code_128"]);
});
