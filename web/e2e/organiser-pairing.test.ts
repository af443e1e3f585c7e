// The organiser pairs phone after phone, and prints a sheet for several.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { DESK, look, pairingCode, signIn } from "./organiser-kit.ts";
import { Doors, phoneBox, ready, syncNow } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start();
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

test("each phone is named as it is paired and the next code comes by itself; a sheet has one code for many", async () => {
  const doors = await Doors.open(admit, [], { name: "Harbour Lights" });
  const desk = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/devices`);
  await signIn(page, admit);
  let link = await pairingCode(page, "North");
  for (const name of ["North 1", "North 2"]) {
    const phone = await phones.open({ name: name.replace(" ", "-"), camera: "none" });
    const scanner = await phone.visit(link);
    await until("the name", async () => (await scanner.getByTestId("pair-submit").textContent()) === `Pair as ${name}`);
    await scanner.getByTestId("pair-submit").click();
    await ready(scanner);
    await page.getByTestId("paired").filter({ hasText: `${name} is paired` }).waitFor();
    const used = link;
    link = await until("the next code", async () => {
      const now = await page.getByTestId("pairing-url").textContent();
      return now !== null && now !== used && now;
    });
    expect(phone.errors).toEqual([]);
  }
  expect(await page.getByTestId("paired").count(), "both stay in sight").toBe(2);
  await page.getByTestId("pair-uses").fill("12");
  await page.getByTestId("pair-print").click();
  await page.getByTestId("sheet-qr").waitFor();
  const sheet = await page.getByTestId("pair-sheet").textContent();
  expect([sheet?.includes("North"), sheet?.includes("Harbour Lights"), sheet?.includes("Pairs 12 phones until")]).toEqual([true, true, true]);
  expect(await look(page, "pair-sheet")).toEqual([]);
  await page.emulateMedia({ media: "print" });
  expect(await page.getByTestId("print-sheet").isVisible()).toBe(false);
  expect(await page.getByTestId("sheet-qr").isVisible()).toBe(true);
  expect(await page.getByTestId("pair-drawer").getByTestId("pair-gate").isVisible()).toBe(false);
  await page.emulateMedia({ media: "screen" });
  await page.getByTestId("close-sheet").click();
  await page.getByTestId("pair-sheet").waitFor({ state: "detached" });
  expect(desk.errors).toEqual([]);
});

test("an organiser makes a phone ring to find it, and staff say that it is here", async () => {
  const doors = await Doors.open(admit, [], { name: "Lost and found" });
  const phone = await phones.open({ name: "lost", camera: "none" });
  const scanner = await doors.pair(phone, "north", "North 9");
  const desk = await phones.open({ name: "finder", camera: "none", size: DESK });
  const page = await desk.visit(`${admit.url}/events/${doors.id}/devices`);
  await signIn(page, admit);
  await page.getByTestId("manage").filter({ hasText: "North 9" }).click();
  await page.getByTestId("ring").click();
  await page.getByTestId("device-done").waitFor();
  await syncNow(scanner);
  const told = scanner.getByTestId("looked-for");
  await told.waitFor({ timeout: 45_000 });
  expect(await told.textContent()).toContain("The organiser is looking for this phone: North 9");
  expect(await barriers(scanner)).toEqual([]);
  await shot(scanner, "scanner-looked-for");
  await scanner.getByTestId("looked-for-seen").click();
  await told.waitFor({ state: "detached" });
  expect(phone.errors).toEqual([]);
});
