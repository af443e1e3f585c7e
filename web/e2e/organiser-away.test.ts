// The organiser's app if the server is gone, if the event is not theirs, and if the event is over.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, type Phone, shot, until } from "./harness/index.ts";
import { DESK, goTo, look, signIn } from "./organiser-kit.ts";
import { Doors, hours, phoneBox } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});
async function desk(path: string): Promise<[Phone, Page]> {
  const phone = await phones.open({ name: "desk", camera: "none", size: DESK });
  const page = await phone.visit(admit.url + path);
  await signIn(page, admit);
  return [phone, page];
}

let batches = 0;
/** Pairs a device of S1's kind at a gate. Gives a function that sends a scan with a time in the past. */
async function virtual(doors: Doors, gate: string): Promise<(code: string, at: number) => Promise<void>> {
  const { pairing_token } = await doors.call<{ pairing_token: string }>("POST", `/api/events/${doors.id}/pairing-tokens`, { gate_id: gate });
  const id = `virtual-${gate}-${doors.id.slice(-6)}`;
  const post = async (path: string, body: unknown, key?: string): Promise<{ api_key: string }> => {
    const headers = { "content-type": "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
    const answer = await fetch(admit.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} gave ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { api_key: string };
  };
  const { api_key } = await post("/api/scanning/pair", { pairing_token, device_id: id, name: gate, device_type: "phone" });
  return async (code, at) => {
    batches += 1;
    const scans = [{ offline_id: `${batches}`, ticket_code: code, scanned_at: new Date(at).toISOString() }];
    await post("/api/scans/sync", { batch_id: `batch-${batches}`, device_id: id, batch_created_at: new Date().toISOString(), batch_size: 1, scans }, api_key);
  };
}

test("without the server each page says so instead of being empty, tries again by itself and by its button", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Away" });
  await doors.call("POST", `/api/events/${doors.id}/guests`, { name: "Ana" });
  const [, page] = await desk(`/events/${doors.id}/gates`);
  await page.getByTestId("edit-gate").first().waitFor();
  // Waits until the idle browser has fetched each page's script.
  for (const name of ["Guests", "Overview", "Tickets", "Passes and mail", "Gates and rules"]) await goTo(page, name);
  await page.getByTestId("edit-gate").first().waitFor();
  const gone = "**/api/**";
  await page.route(gone, (route) => route.abort());
  for (const [name, id] of [["Guests", "guests-failure"], ["Overview", "overview-failure"], ["Tickets", "tickets-failure"], ["Passes and mail", "runs-failure"], ["Gates and rules", "types-failure"]] as const) {
    await goTo(page, name);
    await page.getByTestId(id).waitFor();
    expect(await page.getByTestId(id).textContent()).toContain("The server can't be reached");
  }
  await goTo(page, "Guests");
  await page.getByTestId("guests-failure").waitFor();
  expect(await barriers(page)).toEqual([]);
  await shot(page, "organiser-server-gone");
  // The button tries at once. The message stays while there is no answer.
  const asked = page.waitForRequest(/\/guests\?/);
  await page.getByTestId("try-again").click();
  await asked;
  await page.unroute(gone);
  // By itself.
  await page.getByTestId("guest").first().waitFor();
  expect(await page.getByTestId("guests-failure").count()).toBe(0);

  // The event's details could not be read; then the app before it knows who is signed in.
  await page.route(`**/api/events/${doors.id}`, (route) => route.abort());
  await page.reload();
  await page.getByTestId("event-failure").waitFor();
  await page.unroute(`**/api/events/${doors.id}`);
  await page.getByTestId("guest").first().waitFor();
});

test("that the server is gone is said once on every page, with since when, and phones are shown as they were", async () => {
  const doors = await Doors.open(admit, [{ barcode: "ANY" }], { name: "Gone" });
  await virtual(doors, "north");
  const [, page] = await desk(`/events/${doors.id}/devices`);
  await page.getByTestId("manage").first().waitFor();
  for (const name of ["Gates and rules", "Passes and mail", "Devices"]) await goTo(page, name);
  const gone = page.getByTestId("server-gone");
  expect(await gone.count()).toBe(0);
  const paths = ["**/api/**", "**/healthz"];
  for (const path of paths) await page.route(path, (route) => route.abort());
  await goTo(page, "Passes and mail");
  await gone.waitFor();
  expect(await gone.textContent()).toMatch(/The server has not answered since \d\d:\d\d/);
  for (const name of ["Gates and rules", "Devices"]) {
    await goTo(page, name);
    expect(await gone.count(), name).toBe(1);
  }
  expect(await barriers(page)).toEqual([]);
  await shot(page, "organiser-server-gone-devices");
  for (const path of paths) await page.unroute(path);
  await gone.waitFor({ state: "detached" });
});

test("what a colleague settles keeps its row until the list is looked at anew", async () => {
  const doors = await Doors.open(admit, ["PASS-A", "PASS-B"].map((barcode) => ({ barcode })), { name: "Settled" });
  const gates = [await virtual(doors, "north"), await virtual(doors, "south")];
  for (const code of ["PASS-A", "PASS-B"]) for (const [at, send] of gates.entries()) await send(code, Date.now() - 60_000 * (3 - at));
  const [, page] = await desk(`/events/${doors.id}/review`);
  const rows = page.getByTestId("incident");
  await until("both", async () => (await rows.count()) === 2);
  // The app reads the scans after the cases. Until then no row says which scans were offline.
  await until("both rows complete", async () => (await rows.allTextContents()).every((text) => text.includes(", offline")));
  const [first, second] = await rows.allTextContents();
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/incidents?status=open`);
  const shown = await page.locator("[data-id]").first().getAttribute("data-id");
  expect(items.map((one) => one.id)).toContain(shown);
  await doors.call("POST", `/api/events/${doors.id}/incidents/resolve`, { ids: [shown], decision: "exclude", note: "" });
  await page.locator('[data-testid="incident"][data-settled]').waitFor();
  expect(await rows.count()).toBe(2);
  expect(await rows.first().textContent()).toContain("Settled meanwhile");
  expect(await rows.nth(1).textContent()).toBe(second);
  expect(await rows.first().getByTestId("resolve-exclude").count()).toBe(0);
  expect(first).not.toBe(second);
  expect(await look(page, "review-settled")).toEqual([]);
  await page.getByTestId("chip-open").click();
  await until("one", async () => (await rows.count()) === 1);
});

test("an address of no event, or of another organisation's, says so and leads back", async () => {
  const [phone, page] = await desk("/events/not-an-event/live");
  await page.getByTestId("no-event").waitFor();
  expect(await look(page, "no-event")).toEqual([]);
  expect(await page.getByTestId("stream-state").count()).toBe(0);
  await page.getByTestId("no-event").getByRole("link", { name: "All events" }).click();
  await page.getByTestId("new-event").waitFor();
  expect(phone.errors.filter((error) => !error.includes("404"))).toEqual([]);
});

test("cases that come in while somebody reviews wait behind a button: no row moves", async () => {
  const doors = await Doors.open(admit, ["A", "B", "C"].map((barcode) => ({ barcode })), { name: "Steady" });
  const gates = [await virtual(doors, "north"), await virtual(doors, "south")];
  /** Lets the ticket in at both gates, as if neither had a network. */
  const twice = async (code: string): Promise<void> => {
    for (const [at, send] of gates.entries()) await send(code, Date.now() - 60_000 * (3 - at));
  };
  await twice("A");
  const [, page] = await desk(`/events/${doors.id}/review`);
  const rows = page.getByTestId("incident");
  await until("the row complete", async () => (await rows.first().textContent({ timeout: 5_000 }))?.includes(", offline"));
  const first = await rows.first().textContent();
  const top = async () => (await rows.first().boundingBox())?.y;
  const before = await top();
  await twice("B");
  await page.getByTestId("show-fresh").waitFor();
  expect(await page.getByTestId("show-fresh").textContent()).toBe("1 new case: show");
  expect(await rows.count()).toBe(1);
  expect(await rows.first().textContent()).toBe(first);
  expect(await top()).toBe(before);
  expect(await look(page, "review-fresh")).toEqual([]);
  await twice("C");
  await until("two are held back", async () => (await page.getByTestId("show-fresh").textContent()) === "2 new cases: show");
  await page.getByTestId("show-fresh").click();
  await until("all three", async () => (await rows.count()) === 3);
  expect(await page.getByTestId("show-fresh").count()).toBe(0);
  // The newest case is first now, and has the focus.
  expect(await rows.last().textContent()).toBe(first);
  expect(await page.evaluate(() => document.activeElement?.closest("li")?.previousElementSibling)).toBe(null);
  // After an undo, the case is in its old place.
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await until("two are left", async () => (await rows.count()) === 2);
  await page.getByTestId("undo-decision").click();
  await until("three again", async () => (await rows.count()) === 3);
  expect(await page.getByTestId("show-fresh").count()).toBe(0);
});

test("the overview goes with the evening: what is not ready, what needs somebody, what is left; the live page says that it is over", async () => {
  const doors = await Doors.open(admit, [{ barcode: "COUNTED", entry_limit: 3 }], { name: "Evening", starts_at: hours(14 * 24), ends_at: hours(14 * 24 + 6), status: "draft", staff_pin: undefined });
  await doors.call("POST", `/api/events/${doors.id}/guests`, { name: "Ana", party_size: 2 });
  const gone = await doors.call<{ id: string }>("POST", `/api/events/${doors.id}/guests`, { name: "Bo", party_size: 5 });
  await doors.call("PATCH", `/api/guests/${gone.id}`, { ticket_status: "voided" });
  const [phone, page] = await desk(`/events/${doors.id}/overview`);
  await page.getByTestId("check-guests").waitFor();
  // The number agrees with that above the list of guests. It does not contain the guests of voided tickets.
  expect(await page.getByTestId("check-guests").textContent()).toContain("2 guests, 5 persons expected");
  await goTo(page, "Guests");
  await page.getByText("2 guests · 5 persons expected").waitFor();
  await goTo(page, "Overview");
  // The event begins in two weeks, so the dialog says when.
  await page.getByTestId("go-live").click();
  await page.getByTestId("odd-moment").waitFor();
  expect(await page.getByTestId("odd-moment").textContent()).toMatch(/^The event starts on \w{3} \d+ \w{3}( \d{4})?, \d\d:\d\d, in 14 days\.$/);
  expect(await barriers(page)).toEqual([]);
  await shot(page, "organiser-open-early");
  await page.getByTestId("confirm-yes").click();
  await until("the doors are open", async () => (await page.getByTestId("event-status").getAttribute("data-state")) === "live");
  // One row says that no phone is paired. The checklist is gone.
  await page.getByTestId("need").filter({ hasText: "No phone is paired" }).waitFor();
  expect(await page.getByTestId("progress").count()).toBe(0);
  expect(await page.getByTestId("check-phones").count()).toBe(0);
  await page.getByTestId("not-done").getByTestId("check-staff_pin").waitFor();
  expect(await look(page, "overview-live")).toEqual([]);
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "ended" });
  await page.reload();
  await page.getByTestId("after-event").waitFor();
  expect(await page.getByTestId("need").count()).toBe(0);
  expect(await look(page, "overview-ended")).toEqual([]);
  await goTo(page, "Live");
  await page.getByTestId("live-ended").waitFor();
  expect(await page.getByTestId("event-status").textContent()).toBe("Ended");
  expect(await page.getByTestId("ended-missing").textContent()).toBe("5");
  expect(await page.getByTestId("stream-state").count()).toBe(0);
  expect(await look(page, "live-ended")).toEqual([]);
  expect(phone.errors).toEqual([]);
});

test("a button that mails says to whom", async () => {
  const doors = await Doors.open(admit, [], { name: "Mails" });
  // This import mails nothing, so the pass does not exist yet.
  const answer = await fetch(`${admit.url}/api/events/${doors.id}/tickets/import`, {
    method: "POST", headers: { authorization: `Bearer ${doors.token}`, "content-type": "text/csv" }, body: "name,email\nCy,cy@guests.example\n",
  });
  expect(answer.ok).toBe(true);
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/guests`);
  const [phone, page] = await desk(`/events/${doors.id}/guests?guest=${items[0]?.id}`);
  const button = page.getByTestId("guest-resend");
  await until("it names the address", async () => (await page.getByTestId("resend-hint").textContent())?.includes("It goes to cy@guests.example."));
  expect(await button.textContent()).toBe("Make and mail the pass");
  await shot(page, "organiser-guest-mails");
  await button.click();
  await page.getByTestId("guest-done").filter({ hasText: "The pass is on its way to cy@guests.example." }).waitFor();
  expect(phone.errors).toEqual([]);
});
