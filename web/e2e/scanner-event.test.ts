// What the event tells its phones beside its rules: its clock.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, shot } from "./harness/index.ts";
import { Doors, next, phoneBox, synced, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** The minutes of a span in a zone, as `19:42` each: a test cannot know in which one a thing happened. */
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
  /** That a text has one of the event's minutes since the beginning, and none of the phone's. */
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
