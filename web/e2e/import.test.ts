// An import with a person's choices: meanings of columns, answers to questions, the preview, and undoing the import.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, type Phone, until } from "./harness/index.ts";
import { root } from "./harness/places.ts";
import { DESK, goTo, look, signIn, toastSays } from "./organiser-kit.ts";
import { Doors, phoneBox, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
let desk: Phone;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
  desk = await phones.open({ name: "import-desk", camera: "none", size: DESK });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

interface Made {
  name: string;
  email: string | null;
}
const guestsOf = async (doors: Doors): Promise<Made[]> => (await doors.call<{ items: Made[] }>("GET", `/api/events/${doors.id}/guests?limit=500`)).items;
const namesOf = async (doors: Doors): Promise<string[]> => (await guestsOf(doors)).map((guest) => guest.name).sort();

/** Signs in, and opens the page Import of an event. */
async function importPage(doors: Doors): Promise<Page> {
  const page = await desk.visit(`${admit.url}/events/${doors.id}/import`);
  await page.getByTestId("sign-in").or(page.getByTestId("past-imports")).waitFor();
  if ((await page.getByTestId("sign-in").count()) > 0) await signIn(page, admit);
  await page.getByTestId("past-imports").waitFor();
  return page;
}
const choose = (page: Page, name: string, text: string | Buffer) =>
  page.getByTestId("csv-file").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
const sample = (page: Page, name: string) => choose(page, name, readFileSync(join(root, "docs/samples/cases", name)));
const button = (page: Page) => page.getByTestId("csv-import");
/** Waits until the button has this text and can be pressed. */
const offers = (page: Page, words: string) => until(`“${words}”`, async () => (await button(page).textContent()) === words && (await button(page).isEnabled()));
const column = (page: Page, header: string) => page.getByTestId("import-column").filter({ has: page.getByText(header, { exact: true }) });
const meaning = (page: Page, header: string) => column(page, header).getAttribute("data-meaning");
const subtitle = (page: Page) => page.locator("main header p").first().textContent();

test("a Luma export is known: who was approved comes in under the code they hold, nobody is mailed, and it can be undone", async () => {
  const doors = await Doors.open(admit, [], { name: "Luma night" });
  const page = await importPage(doors);
  const found = await look(page, "import-file");
  await sample(page, "c01-luma.csv");
  await offers(page, "Import 1 guest");
  expect(await subtitle(page)).toBe("c01-luma.csv · 4 rows · looks like a Luma export · UTF\u20118, commas");
  for (const [header, becomes] of [["name", "name"], ["email", "email"], ["approval_status", "status"], ["qr_code_url", "barcode"], ["ticket_name", "entry_type"], ["amount", "ignore"]]) {
    expect(await meaning(page, String(header)), header).toBe(becomes);
  }
  expect(await column(page, "approval_status").getByTestId("import-note").textContent()).toBe("approved comes in; declined, pending_approval and waitlist stay out");
  expect(await column(page, "ticket_name").getByTestId("import-note").textContent()).toBe("1 new type: Standard");
  // Who holds a code already gets no pass.
  await page.getByTestId("import-mail-none").waitFor();
  expect(await page.getByTestId("will-new").textContent()).toContain("1 person");
  expect(await page.getByTestId("will-new").textContent()).not.toContain("mailed");
  expect(await page.getByTestId("will-left_out").textContent()).toContain("1 declined, 1 pending_approval, 1 waitlist");
  found.push(...(await look(page, "import-luma")));
  await page.getByTestId("show-left_out").click();
  await page.getByTestId("import-row").filter({ hasText: "Jonas Weiss" }).getByText("The status is declined.").waitFor();
  found.push(...(await look(page, "import-rows")));
  await page.keyboard.press("Escape");
  expect(await guestsOf(doors), "a preview changes nothing").toEqual([]);

  await button(page).click();
  await toastSays(page, "1 added, 0 changed.");
  await page.getByTestId("see-guests").waitFor();
  found.push(...(await look(page, "import-done")));
  expect(await namesOf(doors)).toEqual(["Mira Okafor"]);
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/tickets`);
  expect(items.length).toBe(1);
  const code = await doors.call<{ barcode: string }>("POST", `/api/tickets/${items[0]?.id}/code`);
  expect(code.barcode).toBe("https://lu.ma/check-in/evt-Demo1?pk=g-miraPk01");
  expect(await doors.call("GET", `/api/events/${doors.id}/runs`)).toMatchObject({ items: [] });

  await page.getByTestId("undo-done").click();
  await page.getByText("Scanners refuse this ticket after their next sync.").waitFor();
  found.push(...(await look(page, "import-undo")));
  await page.getByTestId("confirm-yes").click();
  await toastSays(page, "Undone: 1 guest removed.");
  await page.getByTestId("past-import").filter({ hasText: "c01-luma.csv" }).getByText("Undone", { exact: false }).waitFor();
  expect(await page.getByTestId("undo-import").count()).toBe(0);
  expect(await guestsOf(doors)).toEqual([]);
  expect(found).toEqual([]);
});

test("a status word that nobody knows is asked about, and the answer decides", async () => {
  const doors = await Doors.open(admit, [], { name: "Word night" });
  const page = await importPage(doors);
  await sample(page, "c37-status-words.csv");
  await offers(page, "Import 6 guests");
  const question = page.getByTestId("import-question");
  expect(await question.count()).toBe(1);
  expect(await question.textContent()).toMatch(/Does “Transferred” come in\?\s*Line 12 waits for your answer/);
  expect(await page.getByTestId("import-asked").textContent()).toContain("1 row waits for an answer and would stay out.");
  const found = await look(page, "import-question");
  await question.getByTestId("answer-active").click();
  await offers(page, "Import 7 guests");
  expect(await page.getByTestId("import-asked").count()).toBe(0);
  // The answered question stays, and the answer can be changed.
  await question.getByTestId("answer-voided").click();
  await offers(page, "Import 6 guests");
  expect(await question.getAttribute("data-answer")).toBe("voided");
  expect(await page.getByTestId("will-left_out").textContent()).toContain("1 Transferred");
  await button(page).click();
  await page.getByTestId("see-guests").waitFor();
  expect(await namesOf(doors)).toEqual(["A", "C", "D", "F", "H", "J"]);
  expect(found).toEqual([]);
});

test("a column that was guessed is changed, the preview follows, and the next file like it remembers", async () => {
  const doors = await Doors.open(admit, [], { name: "Column night" });
  const page = await importPage(doors);
  await sample(page, "c04-nom-prenom.csv");
  await offers(page, "Import 3 guests");
  expect([await meaning(page, "Nom"), await meaning(page, "Prénom")]).toEqual(["last_name", "first_name"]);
  expect(await meaning(page, "Nombre de places")).toBe("party_size");
  expect(await page.getByTestId("will-new").textContent()).toContain("5 persons");
  // Passes are mailed only where somebody says so.
  const mails = page.getByTestId("import-mails");
  expect(await mails.isChecked()).toBe(false);
  expect(await page.getByTestId("will-new").textContent()).not.toContain("mailed");
  await mails.check();
  expect(await page.getByTestId("will-new").textContent()).toContain("5 persons; 3 will be mailed a pass");
  await mails.uncheck();
  await column(page, "Nombre de places").getByTestId("import-meaning").selectOption("note");
  await until("three persons", async () => (await page.getByTestId("will-new").textContent())?.includes("3 persons"));
  // Only one column can have a meaning. The column that had it before is now ignored.
  await column(page, "Prénom").getByTestId("import-meaning").selectOption("note");
  await until("the other to be free", async () => (await meaning(page, "Nombre de places")) === "ignore");
  await column(page, "Prénom").getByTestId("import-meaning").selectOption("first_name");
  await column(page, "Nombre de places").getByTestId("import-meaning").selectOption("note");
  await offers(page, "Import 3 guests");
  await button(page).click();
  await page.getByTestId("see-guests").waitFor();
  expect(await namesOf(doors)).toEqual(["Camille LEROUX", "Jade BESSON", "Théo LEROUX"]);
  expect(await doors.call("GET", `/api/events/${doors.id}/runs`)).toMatchObject({ items: [] });
  await page.getByTestId("other-file").click();
  await choose(page, "more.csv", "Nom;Prénom;Adresse e-mail;Nombre de places\nMARTIN;Zoé;zoe@guests.example;4\n");
  await offers(page, "Import 1 guest");
  await page.getByTestId("import-remembered").waitFor();
  expect(await meaning(page, "Nombre de places")).toBe("note");
  await page.getByTestId("import-forget").click();
  await until("the guess again", async () => (await meaning(page, "Nombre de places")) === "party_size");
  expect(await page.getByTestId("import-remembered").count()).toBe(0);
});

test("an import of which somebody was scanned is not undone, and says so", async () => {
  const doors = await Doors.open(admit, [], { name: "Scanned night" });
  const page = await importPage(doors);
  await choose(page, "two.csv", "barcode,name\nIN-1,Ana\nIN-2,Bo\n");
  await offers(page, "Import 2 guests");
  await button(page).click();
  await page.getByTestId("see-guests").waitFor();
  const phone = await phones.open({ name: "import-door", camera: "none" });
  const scanner = await doors.pair(phone, "north", "North 1");
  expect(await typed(scanner, "IN-1")).toBe("admit");
  await synced(scanner);
  await until("the scan at the server", async () => (await doors.occupancy()).inside === 1);
  await page.getByTestId("undo-done").click();
  await page.getByTestId("confirm-yes").click();
  await until("the refusal", async () => (await page.getByTestId("import-failure").textContent())?.startsWith("Not undone: a guest of this import was scanned."));
  expect(await namesOf(doors)).toEqual(["Ana", "Bo"]);
});

test("a pasted table, a damaged code and a preamble are told; the errors can be taken along", async () => {
  const doors = await Doors.open(admit, [], { name: "Draft night", status: "draft" });
  const page = await importPage(doors);
  await page.getByText("Paste a table instead").click();
  await page.getByTestId("pasted").fill("Summer party\t\t\n\t\t\nName\tE-mail\tTicket code\nAna\tana@guests.example\t0030611\nBo\tbo@guests.example\t2.38202E+13\n");
  await page.getByTestId("use-pasted").click();
  await offers(page, "Import 1 guest");
  expect(await subtitle(page)).toBe("Pasted table · 2 rows · UTF\u20118, tabs");
  expect(await page.getByTestId("import-preamble").textContent()).toContain("“Summer party");
  expect(await page.getByTestId("will-wrong").textContent()).toContain("1 damaged line");
  // Ana has her code already, and Bo is left out.
  expect(await page.getByTestId("import-mails").count()).toBe(0);
  await page.getByTestId("show-wrong").click();
  expect(await page.getByTestId("import-error").textContent()).toMatch(/^Line 5\s*Code: this code was damaged by a spreadsheet: 2\.38202E\+13\./);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByTestId("errors-csv").click()]);
  expect(file.suggestedFilename()).toBe("Pasted table errors.csv");
  expect(readFileSync(String(await file.path()), "utf8")).toMatch(/"5","Code","Code: this code was damaged/);
  await page.keyboard.press("Escape");

  // Without a network nothing is imported, and the page says so. With a network it works.
  await page.route("**/tickets/import?*", (route) => route.abort());
  await button(page).click();
  await until("the failure", async () => (await page.getByTestId("csv-failure").textContent())?.startsWith("Not imported: the server can't be reached."));
  expect(await guestsOf(doors)).toEqual([]);
  await page.unroute("**/tickets/import?*");
  await page.getByTestId("import-again").click();
  await page.getByTestId("see-guests").waitFor();
  expect(await namesOf(doors)).toEqual(["Ana"]);
});

test("passes of a draft are made at once and mailed when its doors open", async () => {
  const doors = await Doors.open(admit, [], { name: "Draft mails", status: "draft" });
  const page = await importPage(doors);
  await choose(page, "crew.csv", "name,email\nAna,ana@guests.example\nBo,\n");
  await offers(page, "Import 2 guests");
  expect(await page.getByTestId("import-draft").textContent()).toContain("wait until its doors are opened");
  await page.getByTestId("import-mails").check();
  expect(await page.getByTestId("will-new").textContent()).toContain("1 will be mailed a pass");
  await button(page).click();
  await page.getByTestId("see-guests").waitFor();
  expect(await page.getByTestId("will-new").textContent()).toContain("1 will be mailed a pass");
  const runs = (await doors.call<{ items: { state: string }[] }>("GET", `/api/events/${doors.id}/runs`)).items;
  expect(runs.map((run) => run.state)).toEqual(["open"]);
});

test("letters that were read wrongly are read anew as somebody says", async () => {
  const doors = await Doors.open(admit, [], { name: "Letters" });
  const page = await importPage(doors);
  await choose(page, "old.csv", Buffer.from("name,email\nJos\xe9,jose@guests.example\n", "latin1"));
  await offers(page, "Import 1 guest");
  expect(await subtitle(page)).toContain("Windows\u20111252");
  expect(await column(page, "name").textContent()).toContain("José");
  await page.getByTestId("import-encoding").selectOption("Mac Roman");
  await until("other letters", async () => (await column(page, "name").textContent())?.includes("JosÈ"));
});

test("a file in a language that nobody taught the server is imported by saying what its columns are", async () => {
  const doors = await Doors.open(admit, [], { name: "Unknown words" });
  const page = await importPage(doors);
  await choose(page, "lista.csv", "Lp.;Nazwiska;Uwagi\n1;Ewa Nowak;okno\n2;Jan Kos;\n");
  await page.getByTestId("import-unrecognised").waitFor();
  expect(await button(page).isDisabled()).toBe(true);
  expect(await column(page, "Nazwiska").textContent()).toContain("Ewa Nowak · Jan Kos");
  const found = await look(page, "import-unrecognised");
  await column(page, "Nazwiska").getByTestId("import-meaning").selectOption("name");
  await offers(page, "Import 2 guests");
  expect([await meaning(page, "Lp."), await meaning(page, "Nazwiska")]).toEqual(["ignore", "name"]);
  await button(page).click();
  await page.getByTestId("see-guests").waitFor();
  expect(await namesOf(doors)).toEqual(["Ewa Nowak", "Jan Kos"]);
  expect(found).toEqual([]);
});

test("fifty thousand rows are previewed and imported with progress while the page stays awake", async () => {
  const doors = await Doors.open(admit, [], { name: "Large night" });
  const page = await importPage(doors);
  const rows = Array.from({ length: 50_000 }, (_, at) => `L-${String(at).padStart(6, "0")},Guest ${at},guest${at}@guests.example`);
  await choose(page, "large.csv", `barcode,name,email\n${rows.join("\n")}\n`);
  await until("the preview", async () => (await button(page).textContent()) === "Import 50,000 guests" && (await button(page).isEnabled()), { within: 60_000 });
  // The page must keep drawing while the server works. It notes its longest frame.
  await page.evaluate(() => {
    const seen = window as unknown as { longest: number };
    seen.longest = 0;
    let last = performance.now();
    const tick = (now: number): void => {
      seen.longest = Math.max(seen.longest, now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await button(page).click();
  await page.getByTestId("import-progress").filter({ hasText: /of 50,000/ }).waitFor({ timeout: 60_000 });
  await page.getByTestId("see-guests").waitFor({ timeout: 60_000 });
  expect(await page.evaluate(() => (window as unknown as { longest: number }).longest)).toBeLessThan(2_000);
  expect(await page.getByTestId("will-new").textContent()).toContain("50,000 guests added");
  await goTo(page, "Guests");
  await page.getByTestId("guest").first().waitFor();
  expect(desk.errors).toEqual([]);
});
