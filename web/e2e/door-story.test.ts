// One event from practice to its end at two phones without a network: whom each lets in, and the server's result.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, type Phone, until } from "./harness/index.ts";
import { answered, Doors, next, phoneBox, PIN, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** A full hour about half a day away, so that no day of the event begins while the test runs. */
const farHour = (): string => `${new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 13)}:00`;

const BOOKED = ["Ada Adler", "Ben Bauer", "Cleo Conti"];

/** Makes a draft of a festival: one entry a day, passes for two entries and one at each gate, vouchers for one entry. */
async function festival(): Promise<Doors> {
  const settings = { status: "draft", re_entry: "daily", day_starts_at: farHour(), time_zone: "UTC", walk_ins: 5 };
  const doors = await Doors.open(admit, [], settings);
  const types = `/api/events/${doors.id}/entry-types`;
  const { items } = await doors.call<{ items: { zone: string }[] }>("GET", types);
  const ids: Record<string, string> = {};
  for (const [zone, limits] of [["pass", { per_gate: true, uses: 2 }], ["voucher", { uses: 1 }]] as const) {
    ids[zone] = (await doors.call<{ id: string }>("POST", types, { name: zone, zone })).id;
    await doors.call("PATCH", `${types}/${ids[zone]}`, limits);
  }
  const zones = [...items.map(({ zone }) => zone), "pass", "voucher"];
  for (const gate of ["north", "south"]) await doors.call("PATCH", `/api/events/${doors.id}/gates/${gate}`, { zones, walk_ins: true });
  await doors.call("POST", `/api/events/${doors.id}/tickets`, [
    { barcode: "DAY", guest: { name: "Dora Day" } },
    { barcode: "TWICE", guest: { name: "Theo Twice" } },
    { barcode: "LATE-1" },
    { barcode: "LATE-2" },
    { barcode: "PASS", entry_type_id: ids["pass"], guest: { name: "Paula Pass" } },
    { barcode: "VOUCHER", entry_type_id: ids["voucher"], entry_limit: 3, guest: { name: "Vera Voucher" } },
    ...BOOKED.map((name, at) => ({ barcode: `BOOK-${at + 1}`, order_id: "ORDER-1", guest: { name } })),
  ]);
  return doors;
}

/** Scans a code, and checks the verdict's screen and a text on it. */
async function gives(page: Page, code: string, screen: string, text = ""): Promise<void> {
  expect(await typed(page, code), code).toBe(screen);
  expect(await page.getByTestId("verdict").textContent(), code).toContain(text);
  await next(page);
}

/** The text of a guest's row in the search. */
async function row(page: Page, name: string): Promise<string> {
  await page.getByTestId("search").click();
  await page.getByTestId("guest-search").fill(name);
  const text = await page.getByTestId("found").filter({ hasText: name }).first().textContent({ timeout: 2_000 }).catch(() => "");
  await page.getByTestId("close-sheet").click();
  return text ?? "";
}

async function moved(page: Page, gate: string): Promise<void> {
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await page.getByTestId("open-gate").click();
  await page.getByTestId(`gate-${gate}`).click();
  await page.locator(`[data-testid="gate-${gate}"][aria-pressed="true"]`).waitFor();
  await page.getByTestId("close-sheet").click();
}

test("practice, daily, limits, a booking, a guest added and the end hold at two phones without a network", { timeout: 240_000 }, async () => {
  const doors = await festival();
  const open = async (name: string, gate: string): Promise<[Phone, Page]> => {
    const phone = await phones.open({ name, camera: "none" });
    const page = await doors.pair(phone, gate);
    await page.locator('[data-testid="search"][data-names="held"]').waitFor();
    return [phone, page];
  };
  const [one, north] = await open("story-north", "north");
  const [two, south] = await open("story-south", "south");
  const both = [[one, north], [two, south]] as const;
  const offline = () => Promise.all(both.map(([phone]) => phone.context.setOffline(true)));
  const online = async (): Promise<void> => {
    for (const [phone, page] of both) {
      await phone.context.setOffline(false);
      await page.evaluate(() => window.dispatchEvent(new Event("online")));
      await synced(page);
    }
  };
  const inside = async () => {
    const { inside, inside_over, open_incidents } = await doors.occupancy();
    return { inside, inside_over, open_incidents };
  };

  // The event is a draft. Each phone practises, and no scan counts.
  await offline();
  await gives(north, "DAY", "admit", "Practice · nothing counts");
  await gives(south, "DAY", "admit", "Practice · nothing counts");
  await online();
  expect(await inside()).toEqual({ inside: 0, inside_over: 0, open_incidents: 0 });
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "live" });
  for (const [, page] of both) await page.getByTestId("practice-banner").waitFor({ state: "detached", timeout: 60_000 });

  // The doors are open. Both phones let TWICE in, because neither knows of the other's scan.
  await offline();
  await gives(north, "DAY", "admit");
  await gives(north, "PASS", "admit");
  await gives(north, "TWICE", "admit");
  await gives(south, "TWICE", "admit");
  expect(await typed(north, "VOUCHER"), "one of three may use it").toBe("admit");
  await next(north);
  expect(await typed(north, "BOOK-1")).toBe("admit");
  expect(await north.getByTestId("booking").textContent()).toContain("2 more of this booking");
  await north.getByTestId("admit-booking").click();
  await north.getByTestId("became").waitFor();
  await next(north);
  await north.getByTestId("more").click();
  await north.getByTestId("add-guest").click();
  await north.getByTestId("walk-in-name").fill("Gül Güneş");
  await north.getByTestId("walk-in-more").click();
  await north.getByTestId("walk-in-submit").click();
  await north.getByTestId("verdict").waitFor();
  await next(north);
  await online();
  // Inside: DAY, PASS, TWICE, VOUCHER, three of a booking, two without a ticket. TWICE entered once more than its ticket allows.
  await until("the entries at the server", async () => (await doors.occupancy()).inside === 9);
  expect(await inside()).toEqual({ inside: 9, inside_over: 1, open_incidents: 1 });

  // This phone knows the other phone's scans now, and is without a network again.
  for (const name of ["Dora Day", "Vera Voucher", "Cleo Conti", "Gül Güneş"]) {
    await until(`${name} at the other phone`, async () => /in/i.test((await row(south, name)).replace(name, "")));
  }
  await offline();
  await gives(south, "DAY", "already_in", "One entry a day: the next one is tomorrow.");
  await gives(south, "VOUCHER", "already_in", "All entries of this ticket are used.");
  await gives(south, "BOOK-2", "already_in");
  await moved(south, "north");
  await gives(south, "PASS", "already_in", "This ticket lets in once at each gate.");
  await moved(south, "south");
  await gives(south, "PASS", "admit");
  await online();
  await until("the pass at the second gate", async () => (await doors.occupancy()).inside === 10);
  expect(await inside()).toEqual({ inside: 10, inside_over: 1, open_incidents: 1 });

  // The event is over. Guests go in only with the PIN, and the review queue shows them.
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "ended" });
  for (const [, page] of both) await page.getByTestId("ended-banner").waitFor({ timeout: 60_000 });
  await offline();
  await gives(north, "LATE-1", "ended");
  expect(await typed(south, "LATE-2")).toBe("ended");
  await south.getByTestId("override").click();
  await south.getByTestId("pin").fill(PIN);
  await south.getByTestId("reason-0").check();
  await south.getByTestId("override-by").fill("Ana");
  expect(await answered(south, () => south.getByTestId("override-submit").click())).toBe("admit");
  await next(south);
  await online();
  await until("the late entry at the server", async () => (await doors.occupancy()).inside === 11);
  expect(await inside()).toEqual({ inside: 11, inside_over: 1, open_incidents: 2 });
  expect([...one.errors, ...two.errors]).toEqual([]);
});
