// Names with HTML, a spreadsheet formula or a reversed text direction are shown as plain text on every screen (docs/faults.md, 36).
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, until } from "./harness/index.ts";
import { Doors, phoneBox, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

const NAMES = ['<img src=x onerror="document.title=1">', "=HYPERLINK(1)", "Ana \u202Etxt.exe"];

test("a name that is markup, a formula or turned around is text on the screens of both web apps", async () => {
  const doors = await Doors.open(admit, []);
  await doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { names_on_devices: true });
  const codes: string[] = [];
  for (const name of NAMES) {
    const guest = await doors.call<{ ticket: { barcode: string } }>("POST", `/api/events/${doors.id}/guests`, { name });
    codes.push(guest.ticket.barcode);
  }
  for (const name of ["x".repeat(10_000), "Ana\r\nBcc: all@x.example"]) {
    await expect(doors.call("POST", `/api/events/${doors.id}/guests`, { name })).rejects.toThrow("gave 400");
  }
  const desk = await phones.open({ name: "desk", camera: "none", size: { width: 1180, height: 900 } });
  const list = await desk.visit(`${admit.url}/events/${doors.id}/guests`);
  await list.getByTestId("email").fill(admit.demo.email);
  await list.getByTestId("password").fill(admit.demo.password);
  await list.getByTestId("sign-in").click();
  await until("the guests", async () => (await list.getByTestId("guest").count()) === NAMES.length);
  expect((await list.getByTestId("guest").locator("bdi").allTextContents()).sort()).toEqual([...NAMES].sort());
  expect(await list.locator("img[src='x']").count()).toBe(0);
  const phone = await phones.open({ name: "door", camera: "none" });
  const page = await doors.pair(phone, "north");
  await page.getByTestId("search").click();
  await until("the names on the phone", async () => {
    await page.getByTestId("guest-search").fill("txt");
    return (await page.getByTestId("found").count()) === 1;
  });
  expect(await page.getByTestId("found").locator("strong").textContent()).toBe(NAMES[2]);
  await page.getByTestId("close-sheet").click();
  for (const [at, code] of codes.entries()) {
    expect(await typed(page, code)).toBe("admit");
    expect(await page.getByTestId("verdict").locator("bdi").first().textContent()).toBe(NAMES[at]);
    expect(await page.locator("img[src='x']").count()).toBe(0);
    await page.getByTestId("next").click();
  }
  expect([...desk.errors, ...phone.errors]).toEqual([]);
});
