// Guests at the door: staff find them by name without a network and let them in by hand, and other devices learn of it. No name
// stays on a device that may not have names.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, shot, until } from "./harness/index.ts";
import { answered, Doors, headline, next, phoneBox, still, synced, syncNow, typed, undo } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

interface Guest {
  id: string;
  ticket: { id: string; barcode: string };
}

async function venue(): Promise<{ doors: Doors; guest: (name: string, more?: object) => Promise<Guest> }> {
  const doors = await Doors.open(admit, [{ barcode: "PAPER-ONE" }]);
  await allow(doors, true);
  const guest = (name: string, more: object = {}) =>
    doors.call<Guest>("POST", `/api/events/${doors.id}/guests`, { name, ...more });
  return { doors, guest };
}
const allow = (doors: Doors, names_on_devices: boolean) =>
  doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { names_on_devices });

/** Opens the search if it is closed, and types a text. Gives the found rows. */
async function search(page: Page, text: string): Promise<string[]> {
  if ((await page.getByTestId("sheet-search").count()) === 0) await page.getByTestId("search").click();
  await page.getByTestId("guest-search").fill(text);
  return page.getByTestId("found").evaluateAll((rows) => rows.map((row) => row.querySelector("strong")?.textContent ?? ""));
}
const finds = (page: Page, text: string, names: string[]) =>
  until(`"${text}" to find ${names.join(", ") || "nobody"}`, async () => {
    const found = await search(page, text);
    return JSON.stringify(found) === JSON.stringify(names);
  });
const standing = (page: Page) => page.getByTestId("found").locator(".stands").first().textContent();
const close = (page: Page) => page.getByTestId("close-sheet").click();

/** All rows of the phone's journal in the browser, as text. */
async function journalled(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("admit-journal");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("no journal"));
    });
    const stores = [...db.objectStoreNames];
    const tx = db.transaction(stores, "readonly");
    const rows = stores.map((store) => tx.objectStore(store).getAll());
    await new Promise((done) => (tx.oncomplete = done));
    db.close();
    const plain = (_: string, value: unknown) => (value instanceof Uint8Array ? new TextDecoder().decode(value) : value);
    return rows.map((request) => JSON.stringify(request.result, plain)).join("\n");
  });
}

/** The stored bodies and keys in the browser's cache database, as text. */
async function cached(page: Page): Promise<{ keys: string[]; bodies: Record<string, string>; text: string; extractable: boolean[] }> {
  return page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("admit-cache");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("no cache"));
    });
    const tx = db.transaction(["bodies", "keys"], "readonly");
    const keys = tx.objectStore("bodies").getAllKeys();
    const bodies = tx.objectStore("bodies").getAll();
    const seals = tx.objectStore("keys").getAll();
    await new Promise((done) => (tx.oncomplete = done));
    db.close();
    const text = (bodies.result as Uint8Array[]).map((body) => new TextDecoder().decode(body)).join("\n");
    const held = bodies.result as Uint8Array[];
    const named = Object.fromEntries(keys.result.map((key, at) => [String(key), new TextDecoder().decode(held[at])]));
    const extractable = (seals.result as { key: CryptoKey }[]).map((seal) => seal.key.extractable);
    return { keys: keys.result.map(String), bodies: named, text, extractable };
  });
}

test("whom the organiser erases is gone from the phone: from its search, and from all that its browser keeps", async () => {
  const { doors, guest } = await venue();
  const amelie = await guest("Amélie Brânză");
  await guest("Zoë Amell");
  const phone = await phones.open({ name: "erasing", camera: "none" });
  const page = await doors.pair(phone, "north", "North 1");
  await finds(page, "ame", ["Amélie Brânză", "Zoë Amell"]);
  expect(await answered(page, () => page.getByTestId("found-admit").first().click())).toBe("admit");
  await next(page);
  // A guest who was added later is stored in a separate body. Erasing must reach that one too.
  await guest("Max Later");
  await finds(page, "max", ["Max Later"]);
  const sealed = (kept: Awaited<ReturnType<typeof cached>>) => Object.entries(kept.bodies).filter(([key]) => key.startsWith("names"));
  const before = sealed(await cached(page));
  expect(before.length).toBeGreaterThan(0);

  await doors.call("POST", `/api/guests/${amelie.id}/erase`);
  await close(page);
  await syncNow(page);
  await finds(page, "ame", ["Zoë Amell"]);
  await finds(page, "max", ["Max Later"]);
  // All bodies with her name are overwritten or deleted, although they were encrypted.
  await until("the bodies of before to be gone", async () => {
    const after = new Set(sealed(await cached(page)).map(([, body]) => body));
    return before.every(([, body]) => !after.has(body));
  });
  expect(await journalled(page)).not.toContain("Brânză");
  // She is still inside, and a scan of her code says so.
  await close(page);
  expect(await typed(page, amelie.ticket.barcode)).not.toBe("admit");
  expect(await page.locator("body").textContent()).not.toContain("Brânză");
});

test("a guest is found by name, let in by hand, and the party and the undo are counted", async () => {
  const { doors, guest } = await venue();
  const amelie = await guest("Amélie Brânză");
  await guest("Zoë Amell", { party_size: 4, note: "Table 4" });
  await guest("Max Flag", { flag: "Check ID" });
  await guest("Tom Enter");
  const phone = await phones.open({ name: "door", camera: "none" });
  const page = await doors.pair(phone, "north", "North 1");
  await finds(page, "amelie", ["Amélie Brânză"]);
  await finds(page, "ame", ["Amélie Brânză", "Zoë Amell"]);
  await still(page);
  expect(await barriers(page)).toEqual([]);
  await shot(page, "search-found");
  await finds(page, "BRANZA", ["Amélie Brânză"]);
  expect(await answered(page, () => page.getByTestId("found-admit").click())).toBe("admit");
  expect(await page.getByTestId("verdict").textContent()).toContain("Amélie Brânză");
  await shot(page, "search-admitted");
  await next(page);

  // Her pass is used now, as if it had been scanned. An undo makes it unused again.
  await finds(page, "amelie", ["Amélie Brânză"]);
  expect(await standing(page)).toBe("Already in");
  await close(page);
  await undo(page);
  await finds(page, "amelie", ["Amélie Brânză"]);
  expect(await standing(page)).toBe("Expected");
  await close(page);
  expect(await typed(page, amelie.ticket.barcode)).toBe("admit");
  await next(page);

  // Three persons of a party of four enter now, and the fourth later.
  await finds(page, "zoe", ["Zoë Amell"]);
  expect(await answered(page, () => page.getByTestId("found-admit").click())).toBe("admit_party");
  expect(await page.getByTestId("door-note").textContent()).toBe("Table 4");
  await page.getByTestId("count-3").click();
  await until("three to be in", async () => (await headline(page)) === "Admit 3");
  await next(page);
  await finds(page, "zoe", ["Zoë Amell"]);
  expect(await standing(page)).toBe("3 of 4 in");
  await close(page);

  // A flag asks staff first.
  await finds(page, "max", ["Max Flag"]);
  expect(await answered(page, () => page.getByTestId("found-admit").click())).toBe("check");
  expect(await headline(page)).toBe("Check ID");
  await shot(page, "search-check");
  expect(await page.getByTestId("door-flag").count(), "once is enough").toBe(0);
  await page.getByTestId("count-all").click();
  await until("the answer", async () => (await headline(page)) === "Admit");
  expect(await page.getByTestId("door-flag").locator("bdi").textContent()).toBe("Check ID");
  await next(page);

  // Enter acts on the answer to the present text, not on a row of the search before.
  await finds(page, "amelie", ["Amélie Brânză"]);
  await page.getByTestId("guest-search").evaluate((input: HTMLInputElement) => {
    input.value = "tom";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.form?.requestSubmit();
  });
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("verdict").textContent()).toContain("Tom Enter");
  await next(page);

  await syncNow(page);
  await synced(page);
  await until("six persons at the server", async () => (await doors.occupancy()).entered === 6);
  expect((await doors.occupancy()).open_incidents).toBe(0);
  const story = await doors.call<{ items: { what: string; by_hand: boolean }[] }>("GET", `/api/guests/${amelie.id}/timeline`);
  expect(story.items.map((moment) => moment.what)).toEqual(["entered", "undone", "entered", "added"]);
  expect(phone.errors).toEqual([]);
});

test("two devices let different guests in offline, see each other's afterwards, and stale data takes nobody out", async () => {
  const { doors, guest } = await venue();
  const [amelie] = [await guest("Amélie Brânză"), await guest("Łukasz Ördög")];
  const [one, two] = [await phones.open({ name: "one", camera: "none" }), await phones.open({ name: "two", camera: "none" })];
  const [page, other] = [await doors.pair(one, "north", "One"), await doors.pair(two, "north", "Two")];
  for (const at of [page, other]) {
    await finds(at, "amelie", ["Amélie Brânză"]);
    await close(at);
  }

  await other.evaluate(async () => void (await navigator.serviceWorker.ready));
  await admit.kill("SIGKILL");
  // The page may even be closed: names, list and scans are stored on the phone.
  await other.reload();
  await other.getByTestId("scan").waitFor();
  await finds(page, "amelie", ["Amélie Brânză"]);
  expect(await answered(page, () => page.getByTestId("found-admit").click())).toBe("admit");
  await next(page);
  await finds(other, "lukasz", ["Łukasz Ördög"]);
  expect(await answered(other, () => other.getByTestId("found-admit").click())).toBe("admit");
  await next(other);
  await finds(other, "amelie", ["Amélie Brânză"]);
  expect(await standing(other), "nobody told it").toBe("Expected");
  await close(other);
  const disk = await cached(other);
  expect(disk.keys.some((key) => key.startsWith("names:"))).toBe(true);
  expect(disk.text).not.toContain("Brânză");
  expect(disk.extractable.length > 0 && disk.extractable.every((one) => !one)).toBe(true);

  await admit.restart();
  // The new name arrives with a list that does not contain her entry yet.
  await doors.call("PATCH", `/api/guests/${amelie.id}`, { name: "Amélie Brunel" });
  for (const at of [page, other]) {
    await syncNow(at);
    await synced(at);
  }
  for (const [at, text, name] of [
    [page, "lukasz", "Łukasz Ördög"],
    [other, "brunel", "Amélie Brunel"],
    [page, "brunel", "Amélie Brunel"],
  ] as const) {
    await until(`${name} to be in at both`, async () => (await search(at, text))[0] === name && (await standing(at)) === "Already in", {
      within: 60_000,
    });
  }
  await close(page);
  await close(other);
  const counted = await doors.occupancy();
  expect([counted.entered, counted.open_incidents]).toEqual([2, 0]);

  // The gate no longer allows names. None is left on the screen or on the disk.
  await allow(doors, false);
  await until("the search to know no names", () => page.locator('[data-testid="search"][data-names="off"]').count(), { within: 60_000 });
  await until("no name on the disk", async () => {
    const left = await cached(page);
    return !left.keys.some((key) => key.startsWith("names:")) && left.extractable.length === 0;
  });
  for (const phone of [one, two]) expect(phone.errors).toEqual([]);
});
