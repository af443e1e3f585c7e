// The organiser's screens are accessible in both themes, on a computer and on a phone.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, until } from "./harness/index.ts";
import { DESK, goTo, look, signIn } from "./organiser-kit.ts";
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

/** The time limit of a test, in milliseconds. Each `look` runs axe four times. */
const LOOKS = 400_000;

test("no screen of the organiser has a barrier, by day and by night", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE" }, { barcode: "ONCE" }], { name: "Harbour night", capacity: 500 });
  await doors.call("POST", `/api/events/${doors.id}/guests`, { name: "Ana Botha", email: "ana@guests.example" });
  await doors.call("POST", `/api/events/${doors.id}/guests`, { name: "محمد الأحمد", party_size: 2 });
  // One ticket enters at two gates while the server is away. This opens a case.
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

  const found: string[] = [];
  const desk = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await desk.visit(admit.url);
  const see = async (name: string) => found.push(...(await look(page, name)));
  await page.getByTestId("sign-in").waitFor();
  await see("sign-in");
  await page.getByTestId("email").fill(admit.demo.email);
  // A password is hidden until somebody asks for it, and password managers and a paste may fill it in.
  expect(await page.getByTestId("password").getAttribute("type")).toBe("password");
  expect(await page.getByTestId("password").getAttribute("autocomplete")).toBe("current-password");
  await page.getByTestId("password").fill("not the password");
  await page.getByTestId("show-password").click();
  await page.getByTestId("password").press("Control+a");
  await page.getByTestId("password").press("Control+c");
  await page.getByTestId("password").press("End");
  await page.getByTestId("password").press("Control+v");
  expect(await page.getByTestId("password").inputValue()).toBe("not the passwordnot the password");
  await page.getByTestId("show-password").click();
  await page.getByTestId("sign-in").click();
  await page.getByRole("alert").filter({ hasText: "don't belong together" }).waitFor();
  await page.getByTestId("show-password").click();
  expect(await page.getByTestId("password").getAttribute("type")).toBe("text");
  await see("sign-in-refused");
  await signIn(page, admit);
  await page.getByTestId("new-event").waitFor();
  await page.getByRole("link", { name: "Harbour night" }).waitFor();
  await see("events");
  await page.getByTestId("new-event").click();
  await see("new-event");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Harbour night" }).click();
  await until("two persons in", async () => (await page.getByTestId("inside").textContent()) === "2");
  await page.getByTestId("arrival").first().waitFor();
  await see("live");
  // On a wall anybody can read the page, so it names no guest and has no links.
  await page.getByTestId("wall-screen").click();
  await page.getByTestId("leave-wall").waitFor();
  expect(await page.getByRole("navigation").count()).toBe(0);
  expect((await page.textContent("main")) ?? "").not.toContain("Botha");
  await page.getByTestId("leave-wall").click();
  await page.getByTestId("arrival").first().waitFor();
  await page.goto(`${page.url()}?wall=1`);
  await page.getByTestId("leave-wall").waitFor();
  await see("live-wall");
  await page.keyboard.press("Escape");
  await page.getByTestId("arrival").first().waitFor();
  // The sum of the gates is the number of admitted persons.
  expect(await page.getByTestId("entered").textContent()).toBe("3");
  expect((await page.getByTestId("gate-in").allTextContents()).filter((text) => /^\d+$/.test(text)).reduce((sum, text) => sum + Number(text), 0)).toBe(3);
  await goTo(page, /Review/);
  await page.getByTestId("incident").waitFor();
  await see("review");
  await page.keyboard.press("j");
  await page.getByTestId("case-detail").waitFor();
  await see("review-open");
  for (const [name, ready] of [["Overview", "overview-facts"], ["Guests", "guest"], ["Tickets", "ticket"], ["Import", "csv-file"], ["Gates and rules", "edit-gate"], ["Devices", "manage"]] as const) {
    await goTo(page, name);
    await page.getByTestId(ready).first().waitFor();
    await see(name.toLowerCase().replaceAll(" ", "-"));
  }
  await goTo(page, "Passes and mail");
  await page.getByTestId("run").first().waitFor();
  await see("passes");
  await goTo(page, "Tickets");
  await page.getByTestId("ticket").filter({ hasText: "Ana" }).click();
  await page.getByTestId("ticket-guest").waitFor();
  await see("ticket");
  await page.keyboard.press("Escape");
  await page.getByTestId("open-types").click();
  await page.getByTestId("entry-type").first().waitFor();
  await see("entry-types");
  await page.keyboard.press("Escape");
  await goTo(page, "Devices");
  // The page warns of gates without a phone. A gate that is only a way out is not among them.
  expect(await page.getByTestId("unstaffed").count()).toBe(0);
  await page.getByTestId("search-devices").fill("south");
  await until("the one phone", async () => (await page.getByTestId("manage").allTextContents()).join() === "South 1");
  await page.getByTestId("search-devices").fill("");
  await page.getByTestId("open-pair").click();
  await page.getByTestId("pair-gate").selectOption("north");
  await page.getByTestId("pair").click();
  await page.getByTestId("pairing-url").waitFor();
  await see("pairing");
  await page.keyboard.press("Escape");
  await page.getByTestId("manage").first().click();
  await page.getByTestId("device-dialog").waitFor();
  await see("device");
  expect(found).toEqual([]);
  for (const phone of [desk, north, south]) expect(phone.errors).toEqual([]);
}, LOOKS);

test("an event that has nothing says on each page what would be there, and what to do about it", async () => {
  const desk = await phones.open({ name: "empty", camera: "none", size: DESK });
  const page = await desk.visit(admit.url);
  await signIn(page, admit);
  await page.getByTestId("new-event").click();
  await page.locator("#name").fill("Quiet night");
  // The form has suggested times, by a 24-hour clock and with the weekday.
  expect(await page.getByTestId("new-event-span").textContent()).toMatch(/^Saturday \d+ \w+ \d{4}, 20:00 to Sun 02:00$/);
  await page.getByTestId("create-event").click();
  // After creating the event, the page with the next step is shown.
  await page.getByTestId("check-gates").waitFor();
  expect(new URL(page.url()).pathname).toMatch(/\/overview$/);
  const found = await look(page, "empty-overview");
  expect(await page.getByTestId("check-guests").getAttribute("data-state")).not.toBe("done");
  for (const [name, ready] of [["Live", "inside"], ["Review", "queue-empty"], ["Guests", "no-guest"], ["Tickets", "no-ticket"], ["Passes and mail", "no-run"]] as const) {
    await goTo(page, name);
    await page.getByTestId(ready).first().waitFor();
    found.push(...(await look(page, `empty-${name.toLowerCase().replaceAll(" ", "-")}`)));
  }
  await goTo(page, "Devices");
  await page.getByRole("button", { name: "Pair a phone" }).first().waitFor();
  found.push(...(await look(page, "empty-devices")));
  expect(found).toEqual([]);
  expect(desk.errors).toEqual([]);
}, LOOKS);

test("keys lead through the app: Ctrl K to a page, slash to the search, J and Enter to a guest; a theme is kept", async () => {
  const doors = await Doors.open(admit, [], { name: "Keys" });
  for (const name of ["Ada", "Bo"]) await doors.call("POST", `/api/events/${doors.id}/guests`, { name });
  const desk = await phones.open({ name: "keys", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/overview`);
  await signIn(page, admit);
  await page.getByTestId("overview-facts").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette-field").fill("gues");
  await page.keyboard.press("Enter");
  await page.getByTestId("guest").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette-field").fill("ada");
  await page.getByRole("option", { name: "Ada" }).waitFor();
  expect(await look(page, "palette")).toEqual([]);
  await page.keyboard.press("Escape");
  // The browser closes the dialog a moment later.
  await page.getByTestId("palette").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("bo");
  await until("the one guest", async () => (await page.getByTestId("guest").allTextContents()).join() === "Bo");
  await page.keyboard.press("Escape");
  await page.getByTestId("guest").first().evaluate((row: HTMLElement) => row.ownerDocument.body.focus());
  await page.getByTestId("search-guests").evaluate((field: HTMLElement) => field.blur());
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByTestId("guest-dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByTestId("guest-dialog").waitFor({ state: "detached" });

  await page.getByTestId("account").click();
  await page.getByTestId("theme-night").click();
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("night");
  await page.reload();
  await page.getByTestId("guest").first().waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("night");
  expect(desk.errors).toEqual([]);
});
