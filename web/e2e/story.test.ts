// A whole event: a table of tickets, two phones at two gates, no network, a dead battery. In the end the server has every scan
// once. It has found the one double entry, and a person settles it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { Admit, freshFolder, Phone, shot, show, until } from "./harness/index.ts";
import { eventStatus, fillMoment, goTo, pairingCode } from "./organiser-kit.ts";

const phones: Phone[] = [];
let admit: Admit | undefined;
afterAll(async () => {
  await Promise.all(phones.map((phone) => phone.close()));
  await admit?.kill("SIGTERM");
});

async function open(options: Parameters<typeof Phone.open>[0]): Promise<Phone> {
  const phone = await Phone.open(options);
  phones.push(phone);
  return phone;
}

/** The code that both phones scan. Each phone also scans nine codes of its own. */
const SHARED = "STORY-SHARED";
const own = (phone: string): string[] => Array.from({ length: 9 }, (_, at) => `STORY-${phone}-${at + 1}`);

const isOpen = async (page: Page): Promise<void> => {
  await page.locator('[data-testid="scan"]').waitFor({ timeout: 60_000 });
};

const VERDICT = '[data-testid="verdict"], [data-testid="strip"]';

/** Shows a code to the camera until its verdict is on the screen. */
async function scan(page: Page, code: string): Promise<void> {
  const said = page.locator(VERDICT).first();
  const before = (await said.count()) > 0 ? await said.getAttribute("data-scan-id") : null;
  await show(page, code);
  await until(
    `a verdict on ${code}`,
    async () => {
      if ((await said.count()) === 0) return false;
      const id = await said.getAttribute("data-scan-id");
      return id !== null && id !== before;
    },
    { every: 10 },
  );
  expect(await said.getAttribute("data-screen")).toBe("admit");
}

async function pair(organiser: Page, phone: Phone, gate: string, name: string): Promise<Page> {
  const url = await pairingCode(organiser, gate);
  const page = await phone.visit(url);
  await page.getByTestId("change-name").click();
  await page.getByTestId("device-name").fill(name);
  await page.getByTestId("pair-submit").click();
  await isOpen(page);
  // The organiser's pairing drawer says that the phone is paired.
  await organiser.getByTestId("paired").filter({ hasText: `${name} is paired` }).waitFor();
  return page;
}

test("twenty scans with no network become nineteen persons and one double entry", async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
  const desk = await open({ name: "desk", camera: "none", size: { width: 1180, height: 900 } });
  const organiser = await desk.visit(admit.url);

  // The organiser signs in, makes an event with two gates and imports a table.
  await organiser.getByTestId("email").fill(admit.demo.email);
  await organiser.getByTestId("password").fill(admit.demo.password);
  await organiser.getByTestId("sign-in").click();
  await organiser.getByTestId("new-event").click();
  await organiser.locator("#name").fill("The story");
  const local = (ms: number): string => {
    const at = new Date(Date.now() + ms);
    return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  };
  await fillMoment(organiser, "starts", local(-3_600_000));
  await fillMoment(organiser, "ends", local(6 * 3_600_000));
  await organiser.getByTestId("create-event").click();
  await organiser.getByTestId("check-gates").waitFor();
  await goTo(organiser, "Gates and rules");
  for (const gate of ["North", "South"]) {
    await organiser.getByTestId("add-gate").click();
    await organiser.getByTestId("gate-name").fill(gate);
    await organiser.getByTestId("save-gate").click();
    await organiser.getByTestId("gate").filter({ hasText: gate }).waitFor();
  }
  await organiser.getByTestId("go-live").click();
  // The dialog names what is not ready before doors open.
  await organiser.getByTestId("not-ready").filter({ hasText: "guests" }).waitFor();
  await organiser.getByTestId("confirm-yes").click();
  await until("the event to be live", async () => (await eventStatus(organiser)) === "live");

  const rows = [...own("A"), ...own("B"), SHARED].map((code, at) => `${code},"Guest, No ${at + 1}",1`);
  const table = join(freshFolder("story"), "guests.csv");
  writeFileSync(table, `barcode,name,party_size\n${rows.join("\n")}\n`);
  await goTo(organiser, "Import");
  await organiser.getByTestId("csv-file").setInputFiles(table);
  await until("the preview", async () => (await organiser.getByTestId("csv-import").textContent()) === "Import 19 guests");
  await organiser.getByTestId("csv-import").click();
  await organiser.getByTestId("see-guests").waitFor();

  // Two phones are paired.
  await goTo(organiser, "Devices");
  const [phoneA, phoneB] = [await open({ name: "north" }), await open({ name: "south" })];
  const pageA = await pair(organiser, phoneA, "North", "North 1");
  let pageB = await pair(organiser, phoneB, "South", "South 1");

  // The server stops after the phones have stored the app. Each phone makes ten scans, one ticket on both.
  for (const page of [pageA, pageB]) await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  await organiser.getByTestId("drawer-close").click();
  await admit.kill("SIGKILL");
  for (const code of [...own("A"), SHARED]) await scan(pageA, code);
  for (const code of [SHARED, ...own("B").slice(0, 8)]) await scan(pageB, code);

  // The second phone's battery fails in the moment when its tenth verdict is shown.
  await scan(pageB, own("B")[8] ?? "");
  await phoneB.kill();
  await phoneB.reopen();
  pageB = await phoneB.visit(`${admit.url}/scan/`);
  await isOpen(pageB);
  expect(await pageB.getByTestId("pill").getAttribute("data-unsent")).toBe("10");
  await shot(pageA, "scanner-offline");

  // The server is back. Both phones upload everything by themselves.
  await admit.restart();
  for (const page of [pageA, pageB]) {
    await until("all scans to be sent", () => page.locator('[data-testid="pill"][data-unsent="0"]').count(), { within: 90_000 });
  }

  // The page Live shows nineteen persons within their tickets' limits, and one more who entered at the other gate.
  await goTo(organiser, "Live");
  await until("nineteen persons in", async () => (await organiser.getByTestId("inside").textContent()) === "19");
  expect(await organiser.getByTestId("inside-over").textContent()).toContain("1");
  await until("one incident", async () => (await organiser.getByTestId("review-count").textContent())?.startsWith("1"));
  await organiser.getByTestId("need").filter({ hasText: "came in twice" }).waitFor();
  await shot(organiser, "live");
  const scans = await organiser.evaluate(async (id) => {
    const answer = await fetch(`/api/events/${id}/scans?limit=100`);
    const { items } = (await answer.json()) as { items: { verdict: unknown }[] };
    // The API lists a claim beside its final. It has no verdict.
    return items.filter(({ verdict }) => verdict !== null);
  }, /events\/([^/]+)/.exec(organiser.url())?.[1] ?? "");
  expect(scans).toHaveLength(20);

  await goTo(organiser, /Review/);
  const incident = organiser.locator('[data-testid="incident"][data-kind="double_entry"]');
  await incident.waitFor();
  await organiser.keyboard.press("j");
  const detail = incident.getByTestId("case-detail");
  await detail.waitFor();
  expect(await detail.textContent()).toMatch(/\d\d:\d\d:\d\d North/);
  expect(await detail.textContent()).toMatch(/\d\d:\d\d:\d\d South/);
  await shot(organiser, "review");

  // A person settles the case: the second entry is not counted.
  await incident.getByTestId("incident-note").fill("The same guest, sent to the other gate");
  await incident.getByTestId("resolve-exclude").click();
  await organiser.getByTestId("queue-empty").waitFor();
  await goTo(organiser, "Live");
  await until("nobody on top", async () => (await organiser.getByTestId("inside-over").count()) === 0);
  expect(await organiser.getByTestId("inside").textContent()).toBe("19");

  for (const phone of [desk, phoneA, phoneB]) expect(phone.errors).toEqual([]);
}, 300_000);
