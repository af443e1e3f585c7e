// Nothing that an organiser typed or decided is lost: neither at a session's end, nor at a sign-out, nor by a second tap.
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, type Phone, shot, until } from "./harness/index.ts";
import { DESK, goTo, signIn, toastSays } from "./organiser-kit.ts";
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

const PASSWORD = "a long enough password";
async function desk(path: string): Promise<[Phone, Page]> {
  const phone = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await phone.visit(admit.url + path);
  await signIn(page, admit);
  return [phone, page];
}
/** Ends the browser's session, as if it had expired. */
const runOut = (phone: Phone) => phone.context.clearCookies();
/**
 * Presses a button, and ends the session when the button's own requests are sent. Requests that the page sent before by itself
 * still have the session. So the dialog for the sign-in never covers the button.
 */
async function pressAsItRunsOut(phone: Phone, page: Page, own: (method: string, path: string) => boolean, press: () => Promise<void>): Promise<void> {
  let gone: Promise<void> | undefined;
  const take = async (route: Route): Promise<void> => {
    const request = route.request();
    if (!own(request.method(), new URL(request.url()).pathname)) return route.fallback();
    await (gone ??= runOut(phone));
    await route.continue();
  };
  await page.route("**/api/**", take);
  await press();
  await until("the press's own request", () => gone !== undefined);
  await gone;
  // Waits until the running requests are answered.
  await page.unrouteAll({ behavior: "wait" });
}
/** Saves the guest in the dialog while the session ends. */
const saveAsItRunsOut = (phone: Phone, page: Page) =>
  pressAsItRunsOut(phone, page, (method, path) => method === "PATCH" && path.startsWith("/api/guests/"), () => page.getByTestId("edit-save").click());

test("a typed correction is never sent past, voided away or lost with the session", async () => {
  const doors = await Doors.open(admit, [], { name: "Kept" });
  const guest = await doors.call<{ id: string }>("POST", `/api/events/${doors.id}/guests`, { name: "Ana", email: "old@guests.example" });
  const [phone, page] = await desk(`/events/${doors.id}/guests?guest=${guest.id}`);
  const email = page.getByTestId("edit-email");
  const resend = page.getByTestId("guest-resend");
  await email.waitFor();
  expect(await resend.isDisabled()).toBe(false);
  await email.fill("new@guests.example");
  expect(await resend.isDisabled()).toBe(true);
  expect(await page.getByTestId("resend-hint").textContent()).toContain("Save your changes first");

  // An action on the ticket keeps the typed text in its field.
  await page.getByTestId("guest-void").click();
  await page.getByTestId("confirm-yes").click();
  await page.getByTestId("guest-done").filter({ hasText: "Scanners refuse it" }).waitFor();
  // A refusal shows the server's text, and keeps the typed text too.
  const message = "only what a promoter voided is made good by one";
  const problem = { title: "Not allowed", status: 403, code: "forbidden", detail: `ticket_status: ${message}`, errors: [{ path: "ticket_status", message }] };
  const refuse = (route: Route) =>
    route.request().method() === "PATCH" ? route.fulfill({ status: 403, contentType: "application/problem+json", json: problem }) : route.continue();
  await page.route(`**/api/guests/${guest.id}`, refuse);
  await page.getByTestId("guest-good").click();
  await page.getByTestId("guest-failure").waitFor();
  expect(await page.getByTestId("guest-failure").textContent()).toBe("Only what a promoter voided is made good by one.");
  expect(await page.getByTestId("guest-standing").textContent()).toBe("Voided");
  expect(await email.inputValue()).toBe("new@guests.example");
  await page.unroute(`**/api/guests/${guest.id}`, refuse);
  await page.getByTestId("guest-good").click();
  await page.getByTestId("guest-done").filter({ hasText: "valid again" }).waitFor();
  expect(await email.inputValue()).toBe("new@guests.example");

  // The session is over. The app asks for the sign-in over the page, and the same person goes on.
  await saveAsItRunsOut(phone, page);
  await page.getByTestId("sign-in-again").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByTestId("sign-in-again").waitFor();
  expect(await barriers(page)).toEqual([]);
  await shot(page, "organiser-sign-in-again");
  await signIn(page, admit);
  await page.getByTestId("sign-in-again").waitFor({ state: "detached" });
  expect(await email.inputValue()).toBe("new@guests.example");
  await page.getByTestId("edit-save").click();
  await page.getByTestId("guest-done").waitFor();
  expect(await doors.call("GET", `/api/guests/${guest.id}`)).toMatchObject({ email: "new@guests.example" });
  expect(await resend.isDisabled()).toBe(false);

  // Another person signs in. They must not see what the first person had open.
  const member = { email: "other@club.example", name: "Olu", password: PASSWORD, role: "viewer" };
  await doors.call("POST", "/api/members", member);
  await email.fill("half typed");
  await page.evaluate(() => document.querySelector("#guest-form")?.setAttribute("novalidate", ""));
  await saveAsItRunsOut(phone, page);
  await page.getByTestId("sign-in-again").waitFor();
  await signIn(page, admit, member.email, PASSWORD);
  await page.getByTestId("who").filter({ hasText: "Olu" }).waitFor({ state: "attached" });
  await email.waitFor();
  // A viewer sees no e-mail addresses.
  expect(await email.inputValue()).toBe("");
});

test("a quiet live page says when its session is over", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Wall" });
  const [phone, page] = await desk(`/events/${doors.id}/live`);
  await page.getByTestId("inside").waitFor();
  await runOut(phone);
  await admit.kill("SIGKILL");
  await admit.restart();
  await page.getByTestId("sign-in-again").waitFor({ timeout: 60_000 });
  await signIn(page, admit);
  await until("it is live again", async () => (await page.getByTestId("stream-said").textContent()) === "Live", { within: 30_000 });
  expect(await page.getByTestId("sign-in-again").count()).toBe(0);
});

test("a decision is recorded before a sign-out, and after the next sign-in where the session was over", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE-1" }, { barcode: "TWICE-2" }], { name: "Decide and go" });
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
  const open = async () => (await doors.occupancy()).open_incidents;
  await until("two double entries", async () => (await open()) === 2, { within: 60_000 });

  const [phone, page] = await desk(`/events/${doors.id}/review`);
  const cards = page.getByTestId("incident");
  await until("two cards", async () => (await cards.count()) === 2);
  // A key that is held down decides once.
  await page.keyboard.press("j");
  await page.getByTestId("case-detail").waitFor();
  await page.keyboard.down("x");
  await page.keyboard.down("x");
  await page.keyboard.down("x");
  await page.keyboard.up("x");
  expect(await cards.count()).toBe(1);
  await page.getByTestId("account").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByTestId("sign-in").waitFor();
  expect(await open()).toBe(1);

  await page.goto(`${admit.url}/events/${doors.id}/review`);
  await signIn(page, admit);
  await cards.first().waitFor();
  await page.keyboard.press("j");
  await until("the facts", async () => (await page.getByTestId("case-detail").textContent())?.includes("counted"));
  await page.keyboard.press("x");
  await page.getByTestId("decided").waitFor();
  // Leaving the queue records the decision, and the next page is read.
  const own = (method: string, path: string) => (method === "POST" ? path.endsWith("/resolve") : path.endsWith("/tickets"));
  await pressAsItRunsOut(phone, page, own, () => goTo(page, "Tickets"));
  await page.getByTestId("sign-in-again").waitFor();
  expect(await page.getByTestId("not-recorded").textContent()).toContain("not recorded yet");
  expect(await open()).toBe(1);
  await signIn(page, admit);
  await until("it is recorded", async () => (await open()) === 0);
  await page.getByTestId("not-recorded").waitFor({ state: "detached" });
  // The page that could not be read without a session is read now.
  await page.getByRole("cell", { name: "…E-1", exact: true }).waitFor();
  expect(await page.getByTestId("tickets-failure").count()).toBe(0);
});

test("a second tap makes nothing twice, what is late or old overwrites nothing, a code is for one gate, a new gate shows", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Taps" });
  const [, page] = await desk(`/events/${doors.id}/guests`);
  await page.getByTestId("add-guest").click();
  await page.getByTestId("guest-name").fill("Bo");
  await page.getByTestId("save-guest").evaluate((button: HTMLButtonElement) => {
    button.click();
    button.click();
  });
  await toastSays(page, "Bo is added");
  const { items } = await doors.call<{ items: unknown[] }>("GET", `/api/events/${doors.id}/guests`);
  expect(items).toHaveLength(1);

  // A late answer to an older search does not replace the list of a later one.
  let release = (): void => {};
  const held = new Promise<void>((done) => (release = done));
  await page.route(/\/guests\?.*[?&]q=Bo(&|$)/, async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest(/\/guests\?.*[?&]q=Bo(&|$)/);
  await page.getByTestId("search-guests").fill("Bo");
  await asked;
  await page.getByTestId("search-guests").fill("nobody");
  await page.getByTestId("no-guest").waitFor();
  const late = page.waitForResponse(/\/guests\?.*[?&]q=Bo(&|$)/);
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
  expect(await page.getByTestId("guest").count()).toBe(0);

  // The page lists a hundred errors, and says that there are more.
  await goTo(page, "Import");
  const rows = Array.from({ length: 101 }, (_, at) => `W-${at},many`).join("\n");
  await page.getByTestId("csv-file").setInputFiles({ name: "wrong.csv", mimeType: "text/csv", buffer: Buffer.from(`barcode,party_size\nW-good,2\n${rows}\n`) });
  await page.getByTestId("show-wrong").click();
  await page.getByTestId("import-first").waitFor();
  expect(await page.getByTestId("import-first").textContent()).toBe("The first 100 of 101");
  await page.keyboard.press("Escape");

  // A save keeps what somebody else changed while the form was open.
  await goTo(page, "Gates and rules");
  await page.getByLabel("Place").waitFor();
  await doors.call("PATCH", `/api/events/${doors.id}`, { venue: "The other hall" });
  await page.locator("#e-name").fill("Taps, renamed");
  await page.getByTestId("save-event").click();
  await until("it is saved", async () => (await page.getByTestId("said-event").textContent()) === "Saved.");
  expect(await doors.call("GET", `/api/events/${doors.id}`)).toMatchObject({ name: "Taps, renamed", venue: "The other hall" });
  expect(await page.getByLabel("Place").inputValue()).toBe("The other hall");

  await goTo(page, "Devices");
  await page.getByTestId("open-pair").click();
  // A person must choose the gate; none is chosen at first.
  expect(await page.getByTestId("pair-gate").inputValue()).toBe("");
  await page.getByTestId("pair-gate").selectOption({ label: "North" });
  await page.getByTestId("pair-uses").fill("10");
  await page.getByTestId("pair").click();
  await page.getByTestId("pairing-for").waitFor();
  expect(await page.getByTestId("pairing-for").textContent()).toBe("For North, 10 phones");
  await page.getByTestId("pair-gate").selectOption("south");
  expect(await page.getByTestId("pairing-url").count()).toBe(0);
  await page.getByTestId("drawer-close").click();

  await goTo(page, "Live");
  await page.getByTestId("gate-north").waitFor();
  await doors.call("POST", `/api/events/${doors.id}/gates`, { id: "late", name: "Late", direction: "in" });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByTestId("gate-late").waitFor();

  // The skip link leads into the page.
  await page.getByRole("link", { name: "Skip to content" }).evaluate((link: HTMLElement) => link.click());
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
});

test("what is typed while a save is under way stays, and what was saved stays where it can't be read anew", async () => {
  const doors = await Doors.open(admit, [], { name: "Slow", venue: "Old hall" });
  const [, page] = await desk(`/events/${doors.id}/gates`);
  const saved = page.getByTestId("said-event");
  const name = page.locator("#e-name");
  await name.fill("Slow, renamed");
  /** Holds saves back until `release` is called. */
  let release = (): void => {};
  const held = new Promise<void>((done) => (release = done));
  const hang = async (route: Route): Promise<void> => {
    if (["PATCH", "POST"].includes(route.request().method())) await held;
    await route.continue();
  };
  await page.route(`**/api/events/${doors.id}**`, hang);
  await page.getByTestId("save-event").click();
  await page.getByLabel("Place").fill("New hall");
  release();
  await until("it says what is not saved", async () => (await saved.textContent())?.startsWith("Saved. You have changed more since then"));
  expect(await page.getByLabel("Place").inputValue()).toBe("New hall");
  const stored = () => doors.call("GET", `/api/events/${doors.id}`);
  expect(await stored()).toMatchObject({ name: "Slow, renamed", venue: "Old hall" });
  await page.getByTestId("save-event").click();
  await until("all is saved", async () => (await saved.textContent()) === "Saved.");
  expect(await stored()).toMatchObject({ name: "Slow, renamed", venue: "New hall" });

  await page.unroute(`**/api/events/${doors.id}**`, hang);

  // The save succeeds, and then the network fails. The form shows the saved values.
  const away = (route: Route) => (route.request().method() === "GET" ? route.abort() : route.continue());
  await page.route(`**/api/events/${doors.id}`, away);
  await name.fill("Slow, renamed twice");
  await page.getByTestId("save-event").click();
  await page.getByRole("alert").filter({ hasText: "can't be reached" }).waitFor();
  await until("it is saved", async () => (await saved.textContent()) === "Saved.");
  expect(await name.inputValue()).toBe("Slow, renamed twice");
  expect(await stored()).toMatchObject({ name: "Slow, renamed twice" });
});

test("without the server nobody is said to be signed out", async () => {
  const [, page] = await desk("/");
  await page.getByTestId("new-event").waitFor();
  await page.route("**/api/session", (route) => route.abort());
  await page.getByTestId("account").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByTestId("still-in").waitFor();
  await page.reload();
  await page.getByTestId("no-server").waitFor();
  expect(await page.getByTestId("sign-in").count()).toBe(0);
  await page.unroute("**/api/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByTestId("new-event").waitFor();
});

test("on a laptop whose clock is wrong a pairing code is good for its time", async () => {
  const doors = await Doors.open(admit, [], { name: "Wrong clock" });
  const phone = await phones.open({ name: "ahead", camera: "none", size: { width: 1280, height: 800 } });
  await phone.context.addInitScript(() => {
    const right = Date.now.bind(Date);
    Date.now = () => right() + 3 * 3_600_000;
  });
  const page = await phone.visit(`${admit.url}/events/${doors.id}/devices`);
  await signIn(page, admit);
  await page.getByTestId("open-pair").click();
  await page.getByTestId("pair-gate").selectOption("north");
  await page.getByTestId("pair").click();
  await page.getByRole("timer").waitFor();
  await page.getByTestId("pairing-url").waitFor();
});

test("whoever leaves a form with changes is asked: by a link, by the way back, by closing the form or the window", async () => {
  const doors = await Doors.open(admit, [], { name: "Leaving", venue: "Old hall" });
  const [phone, page] = await desk(`/events/${doors.id}/guests`);
  await page.getByTestId("no-guest").waitFor();
  await goTo(page, "Gates and rules");
  const place = page.getByLabel("Place");
  await place.fill("New hall");
  await page.getByTestId("unsaved-event").waitFor();
  const asked = page.getByTestId("confirm");
  const stays = async (path: string): Promise<void> => {
    await asked.waitFor();
    await page.getByTestId("confirm-no").click();
    await asked.waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe(`/events/${doors.id}/${path}`);
  };
  await goTo(page, "Devices");
  await asked.waitFor();
  expect(await barriers(page)).toEqual([]);
  await shot(page, "organiser-leaving");
  await stays("gates");
  await page.goBack();
  await stays("gates");
  expect(await place.inputValue()).toBe("New hall");
  // The browser asks before it closes the window.
  const window = page.waitForEvent("dialog");
  await page.evaluate(() => setTimeout(() => location.reload()));
  const question = await window;
  expect(question.type()).toBe("beforeunload");
  await question.dismiss();
  expect(await place.inputValue()).toBe("New hall");

  // A dialog asks about its own fields, not about the form behind it.
  await page.getByTestId("add-gate").click();
  await page.keyboard.press("Escape");
  await page.getByTestId("gate-dialog").waitFor({ state: "detached" });
  await page.getByTestId("add-gate").click();
  await page.getByTestId("gate-name").fill("West");
  await page.keyboard.press("Escape");
  await stays("gates");
  expect(await page.getByTestId("gate-name").inputValue()).toBe("West");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await asked.waitFor();
  await page.getByTestId("confirm-yes").click();
  await page.getByTestId("gate-dialog").waitFor({ state: "detached" });
  expect(await place.inputValue()).toBe("New hall");

  // The person goes back and confirms it. The changes are discarded, and the page is left.
  await page.goBack();
  await asked.waitFor();
  await page.getByTestId("confirm-yes").click();
  await page.getByTestId("no-guest").waitFor();
  await page.goForward();
  await place.waitFor();
  expect(await place.inputValue()).toBe("Old hall");
  // Without changes nobody is asked.
  await goTo(page, "Devices");
  await page.getByTestId("open-pair").waitFor();
  expect(phone.errors).toEqual([]);
});
