// The rights of a device, on screen. An organiser approves a phone that shows its own code, and gives it a new key. The organiser
// revokes it, imports the log that it saved, and counts its scans. Then the phone is paired again.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
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

const found: string[] = [];
const DESK = { width: 1180, height: 900 };

/** Checks the page with axe in both themes, and takes a picture of each. */
async function look(page: Page, name: string): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), scheme === "dark" ? "night" : "light");
    await still(page);
    found.push(...(await barriers(page)).map((barrier) => `${name} (${scheme}) ${barrier}`));
    await shot(page, `rights-${name}-${scheme}`);
  }
}

/** Opens this path as a signed-in organiser. */
async function desk(path: string): Promise<Page> {
  const phone = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await phone.visit(admit.url + path);
  await page.getByTestId("email").fill(admit.demo.email);
  await page.getByTestId("password").fill(admit.demo.password);
  await page.getByTestId("sign-in").click();
  return page;
}

/** Lets the phone ask to be paired. Gives the code that it shows. */
async function asks(page: Page, name: string): Promise<string> {
  await page.getByTestId("change-name").click();
  await page.getByTestId("device-name").fill(name);
  await page.getByTestId("pair-ask").click();
  await page.getByTestId("own-code-text").waitFor();
  return (await page.getByTestId("own-code-text").textContent()) ?? "";
}

test("a phone that shows its own code is approved, gets a new key, is revoked, hands in its log and is let in again", async () => {
  const doors = await Doors.open(admit, [{ barcode: "SEAT-ONE" }, { barcode: "SEAT-TWO" }, { barcode: "SEAT-THREE" }], { name: "Rights" });
  const phone = await phones.open({ name: "phone", camera: "none" });
  const page = await phone.visit(`${admit.url}/scan/`);
  await page.getByTestId("pair").waitFor();
  const code = await asks(page, "Side door");
  await look(page, "own-code");

  // The organiser types the code at the desk.
  const office = await desk(`/events/${doors.id}/devices`);
  await office.getByTestId("open-pair").click();
  await office.getByText("The phone shows a code").click();
  await office.getByTestId("device-code").fill(code);
  await office.getByTestId("look-up").click();
  expect(await office.getByTestId("request-who").textContent()).toContain("Side door");
  await look(office, "approve");
  await office.getByTestId("approve").click();
  await office.getByTestId("approved").waitFor();
  await office.getByTestId("drawer-close").click();
  await ready(page);
  expect(await typed(page, "SEAT-ONE")).toBe("admit");
  await next(page);
  await synced(page);

  // The phone gets a new key while a scan is unsent. The scan counts nevertheless.
  await office.getByTestId("manage").click();
  // The device gets another name and keeps its gate.
  await office.getByTestId("rename").click();
  await office.getByTestId("device-new-name").fill("Side door 2");
  await office.getByTestId("rename-save").click();
  await office.getByTestId("device-done").filter({ hasText: "name is saved" }).waitFor();
  await office.getByRole("heading", { name: "Side door 2" }).waitFor();
  await office.getByTestId("rotate").click();
  const link = (await office.getByTestId("rotate-url").textContent()) ?? "";
  await look(office, "new-key");
  await office.getByTestId("device-close").click();
  await phone.context.setOffline(true);
  expect(await typed(page, "SEAT-TWO")).toBe("admit");
  await next(page);
  await phone.context.setOffline(false);
  // The link is opened in the window that is already scanning.
  await page.evaluate((hash) => (location.hash = hash), new URL(link).hash);
  await page.getByTestId("pair-submit").click();
  await ready(page);
  await synced(page);
  await until("two persons in", async () => (await doors.occupancy()).inside === 2);

  // The phone is revoked while it has an unsent scan. Staff save its log, and an organiser imports it.
  await phone.context.setOffline(true);
  expect(await typed(page, "SEAT-THREE")).toBe("admit");
  await next(page);
  await office.getByTestId("manage").click();
  await office.getByTestId("revoke").click();
  await look(office, "revoke");
  await office.getByTestId("revoke-now").click();
  await office.getByTestId("device-done").waitFor();
  await look(office, "revoked");
  await office.getByTestId("device-close").click();
  await page.getByTestId("pill").click();
  const saving = page.waitForEvent("download");
  await page.getByTestId("export").click();
  const saved = readFileSync(await (await saving).path());
  await page.getByTestId("close-sheet").click();
  // There is one scan. A claim stands before it if the phone had not noticed yet that it is offline.
  const lines = saved.toString().trim().split("\n");
  expect(lines.filter((line) => !line.includes('"stage":"claim"')).length).toBe(1);
  await office.getByTestId("open-upload").click();
  await office.getByTestId("log-file").setInputFiles({ name: "log.jsonl", mimeType: "application/x-ndjson", buffer: saved });
  await office.getByTestId("import-log").click();
  await office.getByTestId("accept-log").waitFor();
  await look(office, "import");
  expect((await doors.occupancy()).inside).toBe(2);
  await office.getByTestId("accept-log").click();
  await until("three persons in", async () => (await doors.occupancy()).inside === 3);

  // The phone learns of it and is paired again by its own code. The organiser follows the link in the QR code.
  await phone.context.setOffline(false);
  await page.locator('body[data-phase="revoked"]').waitFor();
  await look(page, "phone-revoked");
  await page.getByRole("button", { name: "Pair again" }).click();
  const again = (await asks(page, "Side door")).replaceAll(" ", "");
  const reader = await desk(`/approve#admit_pt_${again}`);
  await reader.getByTestId("request-who").waitFor();
  await look(reader, "approve-link");
  await reader.locator("#approve-event").selectOption(doors.id);
  await until("this event's gates", async () => (await reader.locator("#approve-gate").inputValue()) === "north");
  await reader.getByTestId("request-who").waitFor();
  await reader.getByTestId("approve").click();
  await reader.getByTestId("approved").waitFor();
  await ready(page);
  // The phone's journal still has the scan. Within a minute it is the same ticket, and later a guest who is already in.
  expect(["same_ticket", "already_in"]).toContain(await typed(page, "SEAT-THREE"));

  expect(found).toEqual([]);
  expect(phone.errors).toEqual([]);
});
