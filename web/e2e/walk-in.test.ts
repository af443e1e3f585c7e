// Staff add guests without a ticket at a door without a network. The guests go in at once. The server makes their tickets when the phone syncs.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { DESK, signIn } from "./organiser-kit.ts";
import { Doors, next, phoneBox, PIN, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

test("a guest is added offline, beyond the number with the PIN, and is in the guest list after the sync", async () => {
  const doors = await Doors.open(admit, [{ barcode: "KNOWN", guest: { name: "Ada Adler" } }], { walk_ins: 2 });
  for (const gate of ["north", "south"]) {
    await doors.call("PATCH", `/api/events/${doors.id}/gates/${gate}`, { names_on_devices: true });
  }
  await doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { walk_ins: true });
  const phone = await phones.open({ name: "walk-in", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.locator('[data-testid="search"][data-names="held"]').waitFor();
  await phone.context.setOffline(true);

  // After a search without a result, the form has the searched name already.
  await page.getByTestId("search").click();
  await page.getByTestId("guest-search").fill("Gül Güneş");
  await page.getByTestId("add-found-nobody").click();
  expect(await page.getByTestId("walk-in-name").inputValue()).toBe("Gül Güneş");
  await page.getByTestId("walk-in-more").click();
  expect(await page.getByTestId("walk-in-number").textContent()).toBe("0 of 2 added at the doors");
  expect(await barriers(page)).toEqual([]);
  await shot(page, "walk-in-sheet");
  await page.getByTestId("walk-in-submit").click();
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("headline").textContent()).toBe("Admit 2");
  expect(await page.getByTestId("verdict").textContent()).toContain("Gül Güneş");
  await shot(page, "walk-in-verdict");
  await next(page);

  // The number is used up, so the app asks for the PIN first.
  await page.getByTestId("more").click();
  await page.getByTestId("add-guest").click();
  await page.getByTestId("walk-in-name").fill("Ben Bauer");
  await page.getByTestId("walk-in-beyond").waitFor();
  await page.getByTestId("walk-in-pin").fill("0000");
  await page.getByTestId("walk-in-submit").click();
  await page.getByText("Wrong PIN").waitFor();
  await shot(page, "walk-in-beyond");
  await page.getByTestId("walk-in-pin").fill(PIN);
  await page.getByTestId("walk-in-submit").click();
  await page.getByTestId("verdict").waitFor();
  await next(page);
  expect(await page.getByTestId("own-admitted").textContent()).toBe("3");

  await phone.context.setOffline(false);
  await synced(page);
  await until("the entries at the server", async () => (await doors.occupancy()).inside === 3);
  expect((await doors.occupancy()).open_incidents).toBe(1);

  // Another phone, at a gate where nobody may be added, finds the guest by name now.
  const other = await phones.open({ name: "walk-in-other", camera: "none" });
  const there = await doors.pair(other, "south");
  await there.getByTestId("more").click();
  expect(await there.getByTestId("add-guest").count()).toBe(0);
  await there.getByTestId("close-sheet").click();
  await until("the guest on the other phone", async () => {
    await there.getByTestId("search").click();
    await there.getByTestId("guest-search").fill("gunes");
    const found = there.getByTestId("found").first();
    const text = await found.textContent({ timeout: 2_000 }).catch(() => "");
    await there.getByTestId("close-sheet").click();
    return text?.includes("Gül Güneş") === true && text.includes("in");
  });
  expect(await typed(there, "KNOWN")).toBe("admit");

  // In the organiser's app, the guest is in the list and has a pass to be mailed. A case shows the guest beyond the number.
  const desk = await phones.open({ name: "walk-in-office", camera: "none", size: DESK });
  const office = await desk.visit(`${admit.url}/events/${doors.id}/review`);
  await signIn(office, admit);
  await office.getByText("added Ben Bauer beyond what was allowed").first().waitFor();
  await shot(office, "walk-in-review");
  const { items } = await doors.call<{ items: { name: string; party_size: number; ticket_id: string }[] }>("GET", `/api/events/${doors.id}/guests?limit=50`);
  expect(items.map(({ name, party_size }) => `${name} ${party_size}`).sort()).toEqual(["Ada Adler 1", "Ben Bauer 1", "Gül Güneş 2"]);
  expect([...phone.errors, ...other.errors, ...desk.errors]).toEqual([]);
});
