// People without a ticket, counted at a gate without a network, and a recount of everybody inside.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { DESK, signIn } from "./organiser-kit.ts";
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

interface Inside {
  inside: number;
  present: number;
  without_ticket: Record<string, number>;
  recounts: { inside: number; counted: number; now: number }[];
}

test("staff, crew and a recount reach the office beside the tickets' figures", async () => {
  const doors = await Doors.open(admit, [{ barcode: "CREW-A" }, { barcode: "CREW-B" }]);
  await doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { capacity: 500 });
  const phone = await phones.open({ name: "headcount", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.locator('[data-testid="search"]').waitFor();
  await phone.context.setOffline(true);
  expect(await typed(page, "CREW-A")).toBe("admit");
  await next(page);

  await page.getByTestId("more").click();
  await page.getByTestId("open-headcount").click();
  await page.getByTestId("more-staff").click();
  await page.getByTestId("more-staff").click();
  await page.getByText("10", { exact: true }).first().click();
  await page.getByTestId("more-crew").click();
  await page.getByTestId("more-child").click();
  await until("the children", async () => (await page.getByTestId("counted-child").textContent()) === "10");
  await page.getByTestId("undo-count").click();
  await until("the children taken back", async () => (await page.getByTestId("counted-child").textContent()) === "0");
  expect(await page.getByTestId("counted-staff").textContent()).toBe("2");
  expect(await page.getByTestId("counted-crew").textContent()).toBe("10");
  expect(await barriers(page)).toEqual([]);
  await shot(page, "headcount-sheet");
  await page.getByTestId("recount").fill("412");
  await page.getByTestId("save-recount").click();
  await page.getByTestId("last-recount").waitFor();
  expect(await page.getByTestId("last-recount").textContent()).toMatch(/^Recounted 412 at \d\d:\d\d, North$/);
  await shot(page, "headcount-recount");
  await page.getByTestId("close-sheet").click();
  expect(await typed(page, "CREW-B")).toBe("admit");
  await next(page);

  // The history shows the counted people. They are not among the persons whom this phone let in.
  expect(await page.getByTestId("own-admitted").textContent()).toBe("2");
  await page.getByTestId("open-history").click();
  await page.getByText("Recount: 412 inside").waitFor();
  await page.getByText("Crew +10").first().waitFor();
  await shot(page, "headcount-history");
  await page.getByTestId("close-sheet").click();

  await phone.context.setOffline(false);
  await synced(page);
  const read = () => doors.call<Inside>("GET", `/api/events/${doors.id}/occupancy`);
  await until("the entries at the server", async () => (await read()).inside === 2);
  const told = await read();
  expect(told.without_ticket).toEqual({ staff: 2, crew: 10, child: 0, other: 0 });
  expect(told.present).toBe(14);
  expect(told.recounts).toMatchObject([{ inside: 412, counted: 13, now: 413 }]);

  const desk = await phones.open({ name: "headcount-office", camera: "none", size: DESK });
  const office = await desk.visit(`${admit.url}/events/${doors.id}/live`);
  await signIn(office, admit);
  await office.getByTestId("headcounts").waitFor();
  expect(await office.getByTestId("without-ticket").textContent()).toBe("2 staff and 10 crew");
  expect(await office.getByTestId("present").textContent()).toBe("14");
  expect(await office.getByTestId("recount").textContent()).toContain("413 now");
  expect(await barriers(office)).toEqual([]);
  await shot(office, "headcount-live");
  expect([...phone.errors, ...desk.errors]).toEqual([]);
});
