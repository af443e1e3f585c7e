// Guests in the organiser's app: lists, adding by hand and from a file, search, changes, history. A promoter sees only their own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, until } from "./harness/index.ts";
import { root } from "./harness/places.ts";
import { DESK, goTo, look, signIn, toastSays } from "./organiser-kit.ts";
import { Doors, phoneBox } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start();
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const PASSWORD = "a long enough password";
const see = async (page: Page, name: string) => expect(await look(page, name)).toEqual([]);
const names = (page: Page) => page.getByTestId("guest").allTextContents();
const shows = (page: Page, wanted: string[]) =>
  until(`the guests ${wanted.join(", ")}`, async () => JSON.stringify(await names(page)) === JSON.stringify(wanted));

test("guests are added, found without their accents, changed, voided and followed", async () => {
  const doors = await Doors.open(admit, [{ barcode: "PAPER-ONE" }], { name: "Guest night" });
  const desk = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/guests`);
  await signIn(page, admit);
  await page.getByTestId("no-guest").waitFor();

  // A list, and a guest on it who has a phone and no e-mail.
  await page.getByTestId("open-lists").click();
  await page.getByTestId("add-list").click();
  await page.getByTestId("list-name").fill("Crew");
  await page.getByTestId("save-list").click();
  await page.getByTestId("guest-list").filter({ hasText: "Crew" }).waitFor();
  await page.getByTestId("drawer-close").click();
  await until("the list to be picked", async () => (await page.getByTestId("pick-list").inputValue()) !== "");
  await page.getByTestId("add-guest").click();
  await page.getByTestId("guest-name").fill("Amélie Brânzei");
  await page.getByTestId("guest-phone").fill("+49 170 1234567");
  await page.getByTestId("guest-party").fill("2");
  await page.getByTestId("save-guest-more").click();
  await toastSays(page, "Amélie Brânzei is added");
  // The form stays for the next guest.
  await until("an empty form", async () => (await page.getByTestId("guest-name").inputValue()) === "");
  await page.getByTestId("guest-name").fill("Bo");
  await page.getByTestId("guest-email").fill("not an address");
  await page.evaluate(() => document.querySelector("dialog form")?.setAttribute("novalidate", ""));
  await page.getByTestId("save-guest").click();
  await page.getByTestId("wrong-guest-email").waitFor();
  await see(page, "guests");

  // Typed text is lost only if the person confirms that.
  await page.keyboard.press("Escape");
  await page.getByTestId("confirm-yes").click();
  await shows(page, ["Amélie Brânzei"]);

  // Guests from another system's file are imported onto the same list.
  await goTo(page, "Import");
  const file = readFileSync(join(root, "docs/samples/pretix-check-in-list.csv"));
  await page.getByTestId("csv-file").setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: file });
  await page.getByText("looks like a pretix export").waitFor();
  await page.getByTestId("import-list").selectOption("Crew");
  await page.getByTestId("csv-import").click();
  await toastSays(page, "3 added");
  await goTo(page, "Guests");
  await until("four guests", async () => (await names(page)).length === 4);

  await page.getByTestId("search-guests").fill("amelie branzei");
  await shows(page, ["Amélie Brânzei"]);
  await page.getByTestId("guest").click();
  await page.getByTestId("edit-party").waitFor();
  // Anybody with the code gets in. So it is shown only on request, and the ledger records that.
  expect(await page.getByTestId("code-text").count()).toBe(0);
  await page.getByTestId("show-code").click();
  await page.getByTestId("code-text").waitFor();
  const ledger = await doors.call<{ items: { action: string }[] }>("GET", `/api/audit?event_id=${doors.id}`);
  expect(ledger.items.filter((line) => line.action === "ticket_code_shown").length).toBe(1);
  expect(await page.getByTestId("sms-pass").getAttribute("href")).toMatch(/^sms:\+491701234567\?&body=.*passes%3Ftoken%3D/);
  await page.getByTestId("phone-only").waitFor();
  await page.getByTestId("edit-party").fill("3");
  await page.getByTestId("edit-save").click();
  await page.getByTestId("guest-done").waitFor();
  await page.getByTestId("guest-void").click();
  await page.getByTestId("confirm-yes").click();
  await page.getByTestId("guest-good").waitFor();
  expect(await page.getByTestId("guest-standing").textContent()).toBe("Voided");
  const told = /Changed by .*: (party size|the ticket's status)|Added by/;
  const story = async () => (await page.getByTestId("story").locator("li").allTextContents()).filter((line) => told.test(line));
  await until("the story", async () => (await story()).length === 3);
  await see(page, "guest");
  await page.getByTestId("guest-close").click();
  await until("the list to tell it", async () => (await page.getByTestId("standing").textContent()) === "Voided");

  // After the event, guests who did not come are shown as such, but not those with a void ticket.
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "ended" });
  await page.reload();
  await page.getByTestId("search-guests").fill("");
  await until("the end", async () => (await page.getByTestId("standing").allTextContents()).includes("Did not come"));
  expect(await page.getByRole("row", { name: "Amélie Brânzei" }).getByTestId("standing").textContent()).toBe("Voided");
  // Filters show numbers, and reduce the list to these guests.
  await page.getByTestId("chip-voided").click();
  await shows(page, ["Amélie Brânzei"]);
  expect(await page.getByTestId("chip-voided").locator("em").textContent()).toBe("1");
  expect(desk.errors).toEqual([]);
});

test("a promoter sees and fills their own list and nothing else", async () => {
  const doors = await Doors.open(admit, [{ barcode: "PAPER-ONE" }], { name: "Promoted night" });
  const email = "promoter@club.example";
  const member = await doors.call<{ id: string }>("POST", "/api/members", { email, name: "Pat", password: PASSWORD, role: "promoter" });
  const list = (name: string, promoter_id: string | null) =>
    doors.call<{ id: string }>("POST", `/api/events/${doors.id}/guest-lists`, { name, promoter_id });
  const [, house] = [await list("Pat's list", member.id), await list("House", null)];
  await doors.call("POST", `/api/events/${doors.id}/guests`, { name: "Of the house", guest_list_id: house.id });

  const desk = await phones.open({ name: "promoter", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}`);
  await signIn(page, admit, email, PASSWORD);
  await page.getByTestId("no-guest").waitFor();
  // The navigation has no entry for pages that a promoter may not see.
  const entries = page.getByRole("navigation", { name: "Pages" }).getByRole("listitem");
  expect((await entries.allTextContents()).map((text) => text.trim())).toEqual(["Guests", "Import"]);
  expect(await page.getByTestId("pick-list").locator("option").allTextContents()).toEqual(["Pat's list"]);
  await page.getByTestId("add-guest").click();
  await page.getByTestId("guest-name").fill("Mine");
  await page.getByTestId("save-guest").click();
  await shows(page, ["Mine"]);
  await goTo(page, "Import");
  await page.getByTestId("csv-file").setInputFiles({
    name: "mine.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("name,email,status,barcode\nAda,ada@guests.example,paid,MINE-1\nBea,bea@guests.example,void,MINE-2\n"),
  });
  await page.getByTestId("will-left_out").filter({ hasText: "1 void" }).waitFor();
  // A promoter's file may contain no codes, so that column is not read.
  expect(await page.getByTestId("import-column").filter({ hasText: "barcode" }).getAttribute("data-meaning")).toBe("ignore");
  await page.getByTestId("import-mails").check();
  await page.getByTestId("csv-import").click();
  await toastSays(page, "1 added");
  await goTo(page, "Guests");
  await until("two guests", async () => (await names(page)).length === 2);
  await see(page, "promoter");
  await page.getByTestId("guest").filter({ hasText: "Ada" }).click();
  await page.getByTestId("guest-mail").filter({ hasText: "Waits to be sent" }).waitFor();
  expect(await page.getByTestId("edit-flag").isEditable(), "what the door is to check is the organiser's word").toBe(false);
  await see(page, "promoter-guest");
  expect(desk.errors).toEqual([]);
});

test("a list is given to a promoter, renamed and given to another", async () => {
  const doors = await Doors.open(admit, [], { name: "Given night" });
  const member = (name: string) =>
    doors.call<{ id: string }>("POST", "/api/members", { email: `${name}@club.example`, name, password: PASSWORD, role: "promoter" });
  const [kim, quin] = [await member("Kim"), await member("Quin")];
  const manager = { email: "manager@club.example", name: "Mo", password: PASSWORD, role: "manager" };
  await doors.call("POST", "/api/members", manager);
  const desk = await phones.open({ name: "lists", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/guests`);
  await signIn(page, admit, manager.email, PASSWORD);
  await page.getByTestId("open-lists").click();
  await page.getByTestId("add-list").click();
  await page.getByTestId("list-name").fill("Friends");
  await page.getByTestId("list-promoter").selectOption("Kim");
  await page.getByTestId("save-list").click();
  const row = page.getByTestId("guest-list");
  await row.filter({ hasText: "Kim" }).waitFor();
  const stored = () => doors.call<{ items: unknown[] }>("GET", `/api/events/${doors.id}/guest-lists`);
  expect((await stored()).items).toMatchObject([{ name: "Friends", promoter_id: kim.id }]);

  await page.getByTestId("edit-list").click();
  expect(await page.getByTestId("list-name").evaluate((field) => field === document.activeElement)).toBe(true);
  await page.getByTestId("list-name").fill("Late friends");
  await page.getByTestId("list-promoter").selectOption("Quin");
  await see(page, "lists");
  await page.getByTestId("save-list").click();
  await row.filter({ hasText: "Late friends" }).filter({ hasText: "Quin" }).waitFor();
  expect((await stored()).items).toMatchObject([{ name: "Late friends", promoter_id: quin.id }]);
  await page.getByTestId("edit-list").click();
  await page.getByTestId("list-promoter").selectOption("Nobody");
  await page.getByTestId("save-list").click();
  await until("nobody's list", async () => !(await row.textContent())?.includes("Quin"));
  expect((await stored()).items).toMatchObject([{ name: "Late friends", promoter_id: null }]);
  // The message about a taken name stands at the field.
  await page.getByTestId("add-list").click();
  await page.getByTestId("list-name").fill("late  FRIENDS");
  await page.getByTestId("save-list").click();
  await page.getByRole("alert").filter({ hasText: "called Late friends already" }).waitFor();
  expect(desk.errors).toEqual([]);
});

test("a guest added by hand gets the entry type that was chosen, and the first one by default", async () => {
  const doors = await Doors.open(admit, [], { name: "Typed night" });
  await doors.call("POST", `/api/events/${doors.id}/entry-types`, { name: "VIP", zone: "vip" });
  const desk = await phones.open({ name: "typed", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/guests`);
  await signIn(page, admit);
  await page.getByTestId("no-guest").waitFor();
  await page.getByTestId("add-guest").first().click();
  await page.getByTestId("guest-name").fill("Ada First");
  await page.getByTestId("guest-type").waitFor();
  await page.getByTestId("save-guest-more").click();
  await toastSays(page, "Ada First is added");
  await page.getByTestId("guest-name").fill("Vera Vip");
  await page.getByTestId("guest-type").selectOption("VIP");
  await page.getByTestId("save-guest").click();
  await toastSays(page, "Vera Vip is added");
  const { items } = await doors.call<{ items: { name: string; entry_type: string | null }[] }>("GET", `/api/events/${doors.id}/guests`);
  const types = Object.fromEntries(items.map((one) => [one.name, one.entry_type]));
  expect(types["Vera Vip"]).toBe("VIP");
  expect(types["Ada First"]).not.toBe("VIP");
  expect(desk.errors).toEqual([]);
});

test("an export's products that are no entry types are told and left out; what a person voided stays so and is told", async () => {
  const doors = await Doors.open(admit, [], { name: "Export night" });
  await doors.call("POST", `/api/events/${doors.id}/entry-types`, { name: "VIP", zone: "vip" });
  const desk = await phones.open({ name: "exports", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/import`);
  await signIn(page, admit);
  const choose = (name: string) =>
    page.getByTestId("csv-file").setInputFiles({ name, mimeType: "text/csv", buffer: readFileSync(join(root, "docs/samples", name)) });
  const result = (words: string) => page.getByTestId("csv-result").filter({ hasText: words }).waitFor();
  const types = page.getByTestId("import-column").filter({ hasText: "Product" });
  const note = () => types.getByTestId("import-note").textContent();
  await choose("pretix-check-in-list.csv");
  await result("3 new guests");
  expect(await note()).toBe("1 new type: Regular ticket");
  await types.getByTestId("import-types").selectOption("first");
  await until("the first type", async () => (await note()) === "Regular ticket is no type of this event: these rows get its first type");
  await types.getByTestId("import-types").selectOption("leave_out");
  await result("1 new guest");
  expect(await note()).toBe("Rows of Regular ticket stay out");
  expect(await page.getByTestId("will-left_out").textContent()).toContain("2 of Regular ticket");
  await see(page, "import-unknown");
  await page.getByTestId("csv-import").click();
  await result("1 guest added");
  await goTo(page, "Guests");
  await shows(page, ["Li Xiaolong"]);
  await goTo(page, "Import");

  // For another file the choice is reset.
  await choose("eventbrite-attendees.csv");
  await result("2 new guests");
  expect(await page.getByTestId("import-types").inputValue()).toBe("create");
  await page.getByTestId("csv-import").click();
  await result("2 guests added");
  const { items } = await doors.call<{ items: { id: string; name: string }[] }>("GET", `/api/events/${doors.id}/guests?q=Noah`);
  await doors.call("PATCH", `/api/guests/${items[0]?.id}`, { ticket_status: "voided" });
  await page.getByTestId("other-file").click();
  await choose("eventbrite-attendees.csv");
  await page.getByTestId("will-kept").waitFor();
  expect(await page.getByTestId("csv-result").textContent()).toMatch(/1 stays voided or refunded\s*The file calls them valid/);
  expect(await page.getByTestId("csv-import").isDisabled(), "nothing would come in").toBe(true);
  expect(desk.errors).toEqual([]);
});

test("of a guest without an address nothing is said to be sent: the link is shared", async () => {
  const doors = await Doors.open(admit, [], { name: "No address night" });
  const guest = await doors.call<{ id: string }>("POST", `/api/events/${doors.id}/guests`, { name: "Cy" });
  const desk = await phones.open({ name: "no-address", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/guests?guest=${guest.id}`);
  await signIn(page, admit);
  const resend = page.getByTestId("guest-resend");
  await resend.waitFor();
  expect(await resend.textContent()).toBe("Make the pass");
  expect(await page.getByTestId("resend-hint").textContent()).toContain("There is no e-mail address");
  await resend.click();
  await page.getByTestId("guest-done").filter({ hasText: "no e-mail address, so nothing is sent. Share the link" }).waitFor();
  await page.getByTestId("show-code").filter({ hasText: "Show code and link" }).click({ timeout: 60_000 });
  await page.getByTestId("pass-link").waitFor();
  expect(await page.getByTestId("pass-link").getAttribute("href")).toContain("/passes?token=");
  await page.getByTestId("phone-only").waitFor();
  await page.getByTestId("copy-pass").waitFor();
  // There is nothing to send again.
  await resend.waitFor({ state: "detached" });
  const story = (await page.getByTestId("story").textContent()) ?? "";
  expect(story).toContain("There is no e-mail address, so nothing was sent");
  expect(story).not.toContain("sent again");
  await see(page, "guest-no-address");
  // With an address there is.
  await page.getByTestId("edit-email").fill("cy@guests.example");
  await page.getByTestId("edit-save").click();
  await page.getByTestId("guest-done").filter({ hasText: "Saved." }).waitFor();
  expect(await resend.textContent()).toBe("Mail the pass");
  expect(await page.getByTestId("resend-hint").textContent()).toContain("It goes to cy@guests.example.");
  expect(desk.errors).toEqual([]);
});

test("passes of ticked guests are mailed again: the number stands on the button, and who gets none is told", async () => {
  const doors = await Doors.open(admit, [], { name: "Ticked guests" });
  for (const [name, email] of [["Ana", "ana@guests.example"], ["Bo", undefined], ["Cy", "cy@guests.example"]] as const) {
    await doors.call("POST", `/api/events/${doors.id}/guests`, { name, email });
  }
  const desk = await phones.open({ name: "ticks", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/guests`);
  await signIn(page, admit);
  await shows(page, ["Ana", "Bo", "Cy"]);
  const bar = page.getByTestId("resend-bar");
  expect(await bar.count(), "nobody is ticked").toBe(0);
  await page.getByTestId("pick").nth(1).check();
  await bar.filter({ hasText: "1 selected" }).filter({ hasText: "1 without e-mail" }).waitFor();
  expect(await page.getByTestId("resend-many").isDisabled(), "there is nothing to mail").toBe(true);
  expect(await page.getByTestId("resend-many").textContent()).toBe("Nothing to mail");
  expect(await page.getByTestId("pick-shown").evaluate((box: HTMLInputElement) => box.indeterminate), "some are ticked").toBe(true);
  // X ticks the row that has the focus.
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await bar.filter({ hasText: "2 selected" }).waitFor();
  expect(await page.getByTestId("pick").nth(2).isChecked(), "J goes on from the row that was ticked last").toBe(true);
  await page.getByTestId("pick-shown").check();
  await until("the number", async () => (await page.getByTestId("resend-many").textContent()) === "Mail 2 passes");
  expect(await look(page, "guests-ticked")).toEqual([]);
  await page.getByTestId("resend-many").click();
  await page.getByTestId("confirm").filter({ hasText: "Nothing is mailed to the others: 1 without e-mail." }).waitFor();
  await page.getByTestId("confirm-yes").click();
  await toastSays(page, "2 passes are on their way.");
  await until("an empty choice", async () => (await bar.count()) === 0);
  const ledger = await doors.call<{ items: { action: string; changes: { guests: number } }[] }>("GET", `/api/audit?event_id=${doors.id}`);
  expect(ledger.items.filter((line) => line.action === "passes_resent").map((line) => line.changes.guests)).toEqual([2]);
});
