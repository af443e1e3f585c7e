// Admitting a booking at once: a scan of one ticket offers the order's other tickets, and each gets its own scan, also offline.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
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

const NAMES = ["Ada Adler", "Ben Bauer", "Cleo Conti", "Dan Dahl", "Eva Ek"];

for (const first of ["here", "there"] as const) {
  test(`five go in by one code offline, one is undone, and one was in elsewhere: right when ${first} syncs first`, async () => {
    const tickets = NAMES.map((name, i) => ({ barcode: `BOOK-${i + 1}`, order_id: "ORDER-7", guest: { name } }));
    const doors = await Doors.open(admit, [...tickets, { barcode: "ALONE", guest: { name: "Finn Fuchs" } }]);
    for (const gate of ["north", "south"]) await doors.call("PATCH", `/api/events/${doors.id}/gates/${gate}`, { names_on_devices: true });
    const here = await phones.open({ name: `booking-here-${first}`, camera: "none" });
    const page = await doors.pair(here, "north");
    await page.locator('[data-testid="search"][data-names="held"]').waitFor();
    const there = await phones.open({ name: `booking-there-${first}`, camera: "none" });
    const other = await doors.pair(there, "south");
    await here.context.setOffline(true);
    await there.context.setOffline(true);
    expect(await typed(other, "BOOK-4")).toBe("admit");
    await next(other);

    expect(await typed(page, "ALONE")).toBe("admit");
    expect(await page.getByTestId("booking").count()).toBe(0);
    await next(page);
    expect(await typed(page, "BOOK-1")).toBe("admit");
    expect(await page.getByTestId("booking").textContent()).toContain("4 more of this booking");
    expect(await page.getByTestId("booking").textContent()).toContain("Ben Bauer, Cleo Conti, Dan Dahl, Eva Ek");
    expect(await barriers(page)).toEqual([]);
    await shot(page, "booking-offer");
    await page.getByTestId("admit-booking").click();
    await page.getByTestId("became").waitFor();
    expect(await page.getByTestId("headline").textContent()).toBe("Admit 4");
    expect(await page.getByTestId("became-row").count()).toBe(4);
    expect(await barriers(page)).toEqual([]);
    await shot(page, "booking-became");
    // One of the guests did not come. Their scan is undone, and the others stay.
    await page.getByRole("button", { name: "Undo Ben Bauer" }).click();
    await page.getByTestId("confirm-undo").click();
    await shot(page, "booking-undone");
    await page.getByTestId("became-row").filter({ hasText: "Undone" }).waitFor();
    await next(page);
    expect(await page.getByTestId("own-admitted").textContent()).toBe("5");

    const [one, two] = first === "here" ? [here, there] : [there, here];
    const [pageOne, pageTwo] = first === "here" ? [page, other] : [other, page];
    await one.context.setOffline(false);
    await synced(pageOne);
    await two.context.setOffline(false);
    await synced(pageTwo);
    // Inside are Finn (ALONE), Ada, Cleo, Dan and Eva, but not Ben. Dan entered twice, which opens a case.
    await until("the entries at the server", async () => (await doors.occupancy()).inside === 5);
    const { inside_over, open_incidents } = await doors.occupancy();
    expect([inside_over, open_incidents]).toEqual([1, 1]);
    // Ben comes after all. The phone knows by its own scans and by the server that the others are in.
    expect(await typed(page, "BOOK-2")).toBe("admit");
    expect((await page.getByTestId("booking").textContent())?.trim()).toBe("4 of the booking are in already");
    await shot(page, "booking-last");
    await next(page);

    // A search shows all guests of the order together, whichever of them the text found.
    await page.getByTestId("search").click();
    await page.getByTestId("guest-search").fill("conti");
    await page.getByTestId("found").nth(4).waitFor();
    expect(await page.getByTestId("found-booking").textContent()).toBe("Booked with 4 others");
    await shot(page, "booking-search");
    expect([...here.errors, ...there.errors]).toEqual([]);
  });
}
