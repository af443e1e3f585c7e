// Shows every screen of the scanner, one after another, for the test of sizes and for people.
import type { Page } from "playwright-core";
import { type Admit, hold, type Phone, qrDataUrl, until } from "./harness/index.ts";
import { Doors, hours, next, type phoneBox, PIN, ready, synced, type Ticket, typed } from "./scanner-kit.ts";

/** Called at each stop, with the screen's name. */
export type Stop = (page: Page, name: string) => Promise<void>;

const GUESTS = ["Noah Tamm", "Ewa Tamm", "Jonas Tamm", "Lia Berg", "Max Berg"];

const TICKETS: readonly Ticket[] = [
  { barcode: "TOUR-ANA", guest: { name: "Ana Botha" } },
  { barcode: "TOUR-NOBODY" },
  { barcode: "TOUR-PARTY", entry_limit: 4, guest: { name: "Siobhán Đorđević" } },
  { barcode: "TOUR-PAIR", entry_limit: 2, guest: { name: "Emre Çelik" } },
  { barcode: "TOUR-BUS", entry_limit: 24, guest: { name: "Harbour Youth Choir" } },
  { barcode: "TOUR-ID", guest: { name: "Łucja Wójcik", flag: "ID" } },
  { barcode: "TOUR-IDS", entry_limit: 3, guest: { name: "Kofi Mensah", flag: "Ask for the accreditation letter of the agency" } },
  { barcode: "TOUR-VOID", guest: { name: "Piet Smith" } },
  { barcode: "TOUR-SOUTH", gate_ids: ["south"], guest: { name: "Óscar García" } },
  { barcode: "TOUR-LATE", expires_at: hours(-0.5), guest: { name: "Gwen Moreau" } },
  { barcode: "TOUR-EARLY", valid_from: hours(24), guest: { name: "Imran Haddad" } },
  { barcode: "TOUR-OFTEN", entry_limit: 4, guest: { name: "Fatima Abebe" } },
  { barcode: "TOUR-ELSEWHERE", guest: { name: "Maximiliane-Charlotte von Hohenlohe-Langenburg" } },
  ...GUESTS.map((name, at) => ({ barcode: `TOUR-BOOK-${at + 1}`, order_id: "TOUR-7", guest: { name } })),
];

/** Makes an event whose tickets lead to every kind of verdict. */
export async function tourDoors(admit: Admit, more: Record<string, unknown> = {}, tickets: readonly Ticket[] = TICKETS): Promise<Doors> {
  const doors = await Doors.open(admit, tickets, { name: "Harbour Lights 2026", time_zone: "Europe/Berlin", walk_ins: 2, ...more });
  for (const [id, name] of [["north", "Main entrance"], ["south", "North gate"]]) {
    await doors.call("PATCH", `/api/events/${doors.id}/gates/${id}`, { name, names_on_devices: true });
  }
  await doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { walk_ins: true });
  return doors;
}

interface Tour {
  admit: Admit;
  phones: ReturnType<typeof phoneBox>;
  stop: Stop;
}

/** Makes verdicts stay that would leave the screen by themselves. */
async function lasting(phone: Phone): Promise<void> {
  await phone.context.addInitScript(() => {
    const later = window.setTimeout;
    window.setTimeout = ((act: () => void, ms?: number) => later(act, ms === 1_500 || ms === 4_000 ? 3_600_000 : ms)) as typeof setTimeout;
  });
}

async function open({ phones }: Tour, name: string, more: Parameters<typeof phones.open>[0] = {}): Promise<Phone> {
  const phone = await phones.open({ name: `tour-${name}`, ...more });
  await lasting(phone);
  return phone;
}

const close = (page: Page) => page.getByTestId("close-sheet").click();

/** Before a phone is paired. */
export async function beforePairing(tour: Tour): Promise<void> {
  const { admit, stop } = tour;
  const doors = await tourDoors(admit);
  const at = `${admit.url}/scan/`;
  for (const [name, agent] of [
    ["pair-ios", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"],
    ["pair-android", "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"],
    ["pair", ""],
  ] as const) {
    const phone = await open(tour, name, agent === "" ? {} : { flags: [`--user-agent=${agent}`] });
    const page = await phone.visit(at);
    await page.getByTestId("pair").waitFor();
    await stop(page, name);
    if (agent !== "") {
      await page.goto("about:blank");
      await page.goto(await doors.link("north"));
      await page.getByTestId("pair-place").waitFor();
      await stop(page, `${name}-link`);
      await phone.close();
      continue;
    }
    await page.getByTestId("pair-code").fill("hello");
    await stop(page, "pair-no-code");
    await page.getByTestId("pair-code").fill("https://tickets.example.org/scan/#pair=admit_pt_0123456789abcdefghjkmnpqrs");
    await until("another server", () => page.getByText("tickets.example.org").count());
    await stop(page, "pair-elsewhere");
    await page.getByTestId("pair-code").fill("");
    await page.getByTestId("pair-scan").click();
    await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
    await stop(page, "pair-camera");
    await page.goto("about:blank");
    await page.goto(`${at}#pair=`);
    await page.getByTestId("bad-link").waitFor();
    await stop(page, "pair-bad-link");
    await page.goto("about:blank");
    const link = await doors.link("north");
    await page.goto(link);
    await page.getByTestId("pair-place").waitFor();
    await stop(page, "pair-link");
    await page.getByTestId("change-name").click();
    await stop(page, "pair-named");
    const other = await open(tour, "pair-first", { camera: "none" });
    const first = await other.visit(link);
    await first.getByTestId("pair-submit").click();
    await ready(first);
    await other.close();
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByTestId("pair-place-error").waitFor();
    await stop(page, "pair-used");
    await page.getByTestId("pair-another").click();
    await page.getByTestId("pair-ask").click();
    await page.getByTestId("own-code").waitFor();
    await stop(page, "own-code");
    await page.getByTestId("own-code-cancel").click();
    await page.goto("about:blank");
    const third = await doors.link("north");
    await page.goto(third);
    await page.getByTestId("pair-place").waitFor();
    for (const worker of page.workers()) {
      await worker.evaluate(() => {
        const real = self.fetch;
        self.fetch = (what, init) => (String(what instanceof Request ? what.url : what).includes("manifest") ? new Promise(() => {}) : real(what, init));
      });
    }
    await page.getByTestId("pair-submit").click();
    await page.getByTestId("first-sync").waitFor();
    await stop(page, "first-sync");
    await phone.close();
  }
}

/** Shows the main screen with a camera, and without one. */
export async function home(tour: Tour): Promise<void> {
  const { admit, stop } = tour;
  const doors = await tourDoors(admit);
  await doors.call("POST", `/api/events/${doors.id}/gates`, { id: "both", name: "Terrace behind the old harbour hall", direction: "both", names_on_devices: true });
  const phone = await open(tour, "home");
  // A camera with a lamp and a zoom, as good phones have them.
  await phone.context.addInitScript(() => {
    MediaStreamTrack.prototype.getCapabilities = () => ({ torch: true, zoom: { min: 1, max: 4, step: 0.1 } }) as never;
    MediaStreamTrack.prototype.applyConstraints = async () => {};
  });
  let page = await doors.pair(phone, "north", "Main entrance 1");
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  await page.locator('[data-testid="search"][data-names="held"]').waitFor();
  await stop(page, "home");
  expectScreen(await typed(page, "TOUR-ANA"), "admit");
  const admittedAt = Date.now();
  await next(page);
  await synced(page);
  await stop(page, "home-last");
  expectScreen(await typed(page, "TOUR-ANA"), "same_ticket");
  await stop(page, "home-same-ticket");
  // Ten seconds after an entry, Undo asks first. A quick machine is here sooner.
  await until("Undo to ask first", () => Date.now() > admittedAt + 10_500);
  await page.getByTestId("undo").click();
  await page.getByTestId("sheet-undo").waitFor();
  await stop(page, "sheet-undo-one");
  await page.getByTestId("confirm-undo").click();
  await page.getByTestId("undone").waitFor();
  await stop(page, "home-undone");
  await phone.context.setOffline(true);
  for (const code of ["TOUR-ANA", "TOUR-NOBODY"]) {
    await typed(page, code);
    if ((await page.getByTestId("verdict").count()) > 0) await next(page);
  }
  await page.evaluate(() => window.dispatchEvent(new Event("offline")));
  await page.locator('[data-testid="pill"][data-online="false"]').waitFor({ timeout: 60_000 });
  await stop(page, "home-offline");
  await hold(page, await two(page));
  await page.getByTestId("crowd").waitFor();
  await stop(page, "home-two-codes");
  await hold(page, null);
  await phone.context.setOffline(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await synced(page);
  // The same phone with the settings for the left hand and the largest text.
  await page.evaluate(() => localStorage.setItem("admit-settings", JSON.stringify({ textSize: 200, hand: "left" })));
  await page.reload();
  await ready(page);
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  await stop(page, "home-large-text");
  await page.evaluate(() => localStorage.setItem("admit-settings", "{}"));
  await page.reload();
  await ready(page);
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await page.getByTestId("open-gate").click();
  await stop(page, "sheet-gate");
  await page.getByTestId("gate-both").click();
  await page.locator('[data-testid="gate-both"][aria-pressed="true"]').waitFor();
  await stop(page, "sheet-gate-both");
  await close(page);
  await stop(page, "home-both-ways");
  await page.evaluate(() => localStorage.setItem("admit-settings", JSON.stringify({ keyboardScanner: true })));
  await page.reload();
  await ready(page);
  await page.evaluate(() => window.dispatchEvent(new Event("blur")));
  await stop(page, "home-paused");
  await page.evaluate(() => localStorage.setItem("admit-settings", "{}"));
  const { items } = await doors.call<{ items: { id: string }[] }>("GET", `/api/events/${doors.id}/devices`);
  await page.reload();
  await ready(page);
  await doors.call("POST", `/api/scanning/devices/${items[0]?.id}/ring`);
  await page.getByTestId("looked-for").waitFor({ timeout: 60_000 });
  await stop(page, "home-looked-for");
  await page.getByTestId("looked-for-seen").click();
  const second = await phone.visit(`${admit.url}/scan/`);
  await second.getByTestId("other-tab").waitFor();
  await stop(second, "other-tab");
  await second.getByTestId("take-over").click();
  await ready(second);
  await page.getByTestId("other-tab").waitFor();
  await stop(page, "other-tab-taken");
  await page.close();
  page = second;
  await doors.call("DELETE", `/api/scanning/devices/${items[0]?.id}`);
  await page.getByTestId("fault").waitFor({ timeout: 60_000 });
  await stop(page, "revoked");
  await phone.close();
  for (const camera of ["none", "denied"] as const) {
    const without = await open(tour, camera, { camera });
    const there = await doors.pair(without, "both", `Door ${camera}`);
    await there.getByTestId("camera-fault").waitFor();
    await stop(there, `home-camera-${camera}`);
    await without.close();
  }
}

async function two(page: Page): Promise<string> {
  const urls = [await qrDataUrl("TOUR-ANA"), await qrDataUrl("TOUR-NOBODY")];
  return page.evaluate(async (urls) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 480;
    const pen = canvas.getContext("2d")!;
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, 480, 480);
    for (const [at, url] of urls.entries()) {
      const image = new Image();
      image.src = url;
      await image.decode();
      pen.drawImage(image, at * 240, 120, 240, 240);
    }
    return canvas.toDataURL();
  }, urls);
}

function expectScreen(found: string, wanted: string): void {
  if (found !== wanted) throw new Error(`the screen is ${found}, not ${wanted}`);
}

/** Shows each verdict, with names and fields. */
export async function verdicts(tour: Tour): Promise<void> {
  const { admit, stop } = tour;
  const doors = await tourDoors(admit);
  await doors.call("PATCH", `/api/events/${doors.id}`, { verdict_fields: ["Company", "Table", "Wristband"] });
  const { items: guests } = await doors.call<{ items: { id: string; name: string }[] }>("GET", `/api/events/${doors.id}/guests?limit=100`);
  for (const guest of guests.filter(({ name }) => name === "Ana Botha" || name === "Noah Tamm")) {
    await doors.call("PATCH", `/api/guests/${guest.id}`, { fields: { Company: "Botha & Daughters Shipping", Table: "12", Wristband: "Blue" } });
  }
  await doors.change("TOUR-VOID", { status: "voided" });
  const other = await doors.pair(await open(tour, "verdicts-south", { camera: "none" }), "south", "North gate 1");
  for (const code of ["TOUR-ELSEWHERE", "TOUR-BOOK-5"]) {
    expectScreen(await typed(other, code), "admit");
    await next(other);
  }
  expectScreen(await typed(other, "TOUR-OFTEN"), "admit_party");
  await other.getByTestId("count-all").click();
  await other.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await next(other);
  await synced(other);
  const phone = await open(tour, "verdicts");
  const page = await doors.pair(phone, "north", "Main entrance 1");
  await page.locator('[data-testid="search"][data-names="held"]').waitFor();
  await until("the other gate's entries", async () => {
    await page.getByTestId("search").click();
    await page.getByTestId("guest-search").fill("maximiliane");
    const text = await page.getByTestId("found").first().textContent({ timeout: 2_000 }).catch(() => "");
    await close(page);
    return /Already in/.test(text ?? "");
  });
  for (const [code, screen, name] of [
    ["TOUR-VOID", "refuse", "refuse"],
    ["TOUR-SOUTH", "wrong_place", "wrong-place"],
    ["TOUR-LATE", "wrong_time", "too-late"],
    ["TOUR-EARLY", "wrong_time", "too-early"],
    ["X".repeat(513), "not_a_ticket", "not-a-ticket"],
    ["TOUR-ELSEWHERE", "already_in", "already-in"],
    ["TOUR-OFTEN", "already_in", "already-in-party"],
    ["TOUR-PAIR", "admit_party", "party-2"],
    ["TOUR-PARTY", "admit_party", "party-4"],
    ["TOUR-BUS", "admit_party", "party-24"],
    ["TOUR-ID", "check", "check"],
    ["TOUR-IDS", "check", "check-party"],
    ["TOUR-ANA", "admit", "admit"],
    ["NOBODY-KNOWS-THIS", "not_in_list", "unknown"],
  ] as const) {
    expectScreen(await typed(page, code), screen);
    await stop(page, `verdict-${name}`);
    if (name === "unknown") {
      await page.getByTestId("override").click();
      await stop(page, "sheet-override");
      await page.getByTestId("pin").fill("0000");
      await page.getByTestId("override-by").fill("Ana Maria");
      await page.getByTestId("reason-0").check();
      await page.getByTestId("override-submit").click();
      await until("the wrong PIN", async () => /Wrong PIN/.test((await page.getByTestId("pin-problem").textContent()) ?? ""));
      await stop(page, "sheet-override-wrong");
      await page.getByTestId("pin").fill(PIN);
      await page.getByTestId("override-submit").click();
      await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
      await stop(page, "verdict-overridden");
    }
    if (name === "party-4") {
      await page.getByTestId("count-3").click();
      await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
      await stop(page, "verdict-admit-3");
    }
    const asks = page.getByTestId("count-0");
    if ((await asks.count()) > 0) {
      await asks.click();
      await page.locator('[data-testid="verdict"][data-screen="nobody"]').waitFor();
      if (name === "check") await stop(page, "verdict-nobody");
    }
    await next(page);
  }
  await phone.context.setOffline(true);
  expectScreen(await typed(page, "OFFLINE-UNKNOWN"), "not_in_list");
  await stop(page, "verdict-unknown-offline");
  await next(page);
  expectScreen(await typed(page, "TOUR-BOOK-1"), "admit");
  await stop(page, "verdict-booking");
  await page.getByTestId("admit-booking").click();
  await page.getByTestId("became").waitFor();
  await stop(page, "verdict-became");
  await next(page);
  await stop(page, "home-booking");
  await page.getByTestId("undo-booking").click();
  await stop(page, "sheet-booking");
  await close(page);
  await page.getByTestId("open-history").click();
  await stop(page, "sheet-history");
  await close(page);
  await page.getByTestId("pill").click();
  await stop(page, "sheet-sync-offline");
  await close(page);
  await phone.context.setOffline(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await synced(page);
  const exit = await doors.pair(await open(tour, "verdicts-out", { camera: "none" }), "way-out", "Way out 1");
  expectScreen(await typed(exit, "TOUR-ANA"), "exit");
  await stop(exit, "verdict-exit");
}

/** The sheets behind the bar. */
export async function sheets(tour: Tour): Promise<void> {
  const { admit, stop } = tour;
  const doors = await tourDoors(admit);
  const phone = await open(tour, "sheets");
  const page = await doors.pair(phone, "north", "Main entrance 1");
  await page.locator('[data-testid="search"][data-names="held"]').waitFor();
  await page.getByTestId("open-history").click();
  await stop(page, "sheet-history-empty");
  await close(page);
  for (const code of ["TOUR-ANA", "TOUR-BOOK-1"]) {
    expectScreen(await typed(page, code), "admit");
    await next(page);
  }
  await page.getByTestId("search").click();
  await stop(page, "sheet-search-empty");
  const field = page.getByTestId("guest-search");
  await field.fill("tamm");
  await page.getByTestId("found").first().waitFor();
  await stop(page, "sheet-search-found");
  await field.fill("łucja");
  await page.getByText("Łucja Wójcik").waitFor();
  await stop(page, "sheet-search-flag");
  await field.fill("Zoltan Quispe-Vega");
  await page.getByTestId("nobody-found").waitFor();
  await stop(page, "sheet-search-nobody");
  await page.getByTestId("add-found-nobody").click();
  await stop(page, "sheet-add-guest");
  await page.getByTestId("walk-in-more").click();
  await page.getByTestId("walk-in-more").click();
  await page.getByTestId("walk-in-beyond").waitFor();
  await stop(page, "sheet-add-guest-beyond");
  await close(page);
  await page.getByTestId("more").click();
  await stop(page, "sheet-more");
  await page.getByTestId("open-headcount").click();
  for (const name of ["staff", "crew"]) await page.getByTestId(`more-${name}`).click();
  await page.getByTestId("recount").fill("412");
  await page.getByTestId("save-recount").click();
  await page.getByTestId("last-recount").waitFor();
  await stop(page, "sheet-headcount");
  await close(page);
  await page.getByTestId("more").click();
  await page.getByTestId("open-check").click();
  await page.locator('[data-testid="check-list"][data-state="ok"]').waitFor();
  await stop(page, "sheet-check");
  await close(page);
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await stop(page, "sheet-settings");
  await page.getByTestId("sheet-settings").evaluate((sheet) => (sheet.scrollTop = sheet.scrollHeight / 3));
  await stop(page, "sheet-settings-2");
  await page.getByTestId("sheet-settings").evaluate((sheet) => (sheet.scrollTop = sheet.scrollHeight));
  await stop(page, "sheet-settings-3");
  await page.getByTestId("pair-again").click();
  await page.getByTestId("pair").waitFor();
  await stop(page, "pair-again");
  await page.getByTestId("pair-cancel").click();
  await synced(page);
  await page.getByTestId("pill").click();
  await page.getByTestId("sync-details").locator("summary").click();
  await stop(page, "sheet-sync");
  await close(page);
  expectScreen(await typed(page, "TOUR-PARTY"), "admit_party");
  await page.getByTestId("count-all").click();
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await next(page);
  await page.getByTestId("open-history").click();
  await page.getByTestId("history-undo").first().click();
  await page.getByTestId("keep-more").click();
  await stop(page, "sheet-undo");
  await close(page);
  await doors.call("PATCH", `/api/events/${doors.id}/gates/north`, { names_on_devices: false });
  await page.locator('[data-testid="search"][data-names="off"]').waitFor({ timeout: 60_000 });
  await page.getByTestId("search").click();
  await page.getByTestId("guest-search").fill("TOUR-12");
  await stop(page, "sheet-search-codes");
  await close(page);
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await page.getByTestId("lock-now").click();
  await page.getByTestId("lock").waitFor();
  await stop(page, "lock");
  await page.getByTestId("guard-pin").fill("0000");
  await page.getByTestId("guard-open").click();
  await until("the refusal", async () => /Wrong PIN/.test((await page.getByTestId("guard-pin-problem").textContent()) ?? ""));
  await stop(page, "lock-wrong");
  await page.getByTestId("guard-pin").fill(PIN);
  await page.getByTestId("guard-open").click();
  await ready(page);
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await page.getByTestId("start-kiosk").click();
  await page.getByTestId("kiosk").waitFor();
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  await stop(page, "kiosk");
  for (const [code, tone] of [["TOUR-BUS", "go"], ["TOUR-BUS", "again"], ["NO-SUCH-CODE", "stop"]] as const) {
    await page.keyboard.type(code);
    await page.keyboard.press("Enter");
    await page.locator(`[data-testid="kiosk-verdict"][data-tone="${tone}"]`).waitFor();
    await stop(page, `kiosk-${tone}`);
  }
  await page.reload();
  await page.getByTestId("kiosk").waitFor();
  await page.getByTestId("kiosk-staff").click();
  await stop(page, "kiosk-leave");
  await page.getByTestId("guard-pin").fill(PIN);
  await page.getByTestId("guard-open").click();
  await ready(page);
  for (const worker of page.workers()) {
    await worker.evaluate(() => {
      const kept = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...given: Parameters<typeof kept>) {
        if (this.name === "admit-journal") this.close();
        return kept.apply(this, given);
      };
    });
  }
  await page.keyboard.type("TOUR-ID");
  await page.keyboard.press("Enter");
  await page.getByTestId("fault").waitFor();
  await stop(page, "fault-storage");
}

/** Shows the screens before doors open, at a full area, and after the event. */
export async function states(tour: Tour): Promise<void> {
  const { admit, stop } = tour;
  const doors = await tourDoors(admit, { status: "draft" });
  const phone = await open(tour, "states");
  const page = await doors.pair(phone, "north", "Main entrance 1");
  await page.getByTestId("practice-banner").waitFor();
  await page.locator('[data-testid="camera"][data-camera="live"]').waitFor();
  await stop(page, "home-practice");
  await page.getByTestId("practice-check").click();
  await stop(page, "sheet-check-practice");
  await page.getByTestId("sample-here").click();
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await stop(page, "verdict-sample");
  await next(page);
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "live" });
  await page.getByTestId("practice-banner").waitFor({ state: "detached", timeout: 60_000 });
  await doors.call("PATCH", `/api/events/${doors.id}`, { status: "ended" });
  await page.getByTestId("ended-admit").waitFor({ timeout: 60_000 });
  await stop(page, "home-ended");
  await page.getByTestId("ended-admit").click();
  await stop(page, "home-goes-on");
  expectScreen(await typed(page, "TOUR-ANA"), "ended");
  await stop(page, "verdict-ended");
  const small = await tourDoors(admit, { capacity: 5 }, [
    { barcode: "FULL-FOUR", entry_limit: 4, guest: { name: "Ada Adler" } },
    { barcode: "FULL-THREE", entry_limit: 3, guest: { name: "Ben Bauer" } },
    { barcode: "FULL-ONE", guest: { name: "Cleo Conti" } },
  ]);
  await small.call("PATCH", `/api/events/${small.id}/gates/north`, { capacity: 5 });
  const there = await small.pair(await open(tour, "full"), "north", "Main entrance 1");
  expectScreen(await typed(there, "FULL-FOUR"), "admit_party");
  await there.getByTestId("count-all").click();
  await there.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await next(there);
  expectScreen(await typed(there, "FULL-THREE"), "full");
  await stop(there, "verdict-full");
  await there.getByTestId("count-1").click();
  await there.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await next(there);
  expectScreen(await typed(there, "FULL-ONE"), "full");
  await stop(there, "verdict-full-none");
  await there.getByTestId("count-0").click();
  await next(there);
  const removed = await open(tour, "gone", { camera: "none" });
  await small.call("POST", `/api/events/${small.id}/gates`, { id: "tent", name: "Tent", direction: "in" });
  const gone = await small.pair(removed, "tent", "Tent 1");
  const { items } = await small.call<{ items: { id: string; name: string }[] }>("GET", `/api/events/${small.id}/devices`);
  for (const worker of gone.workers()) {
    await worker.evaluate(() => {
      const real = self.fetch;
      self.fetch = (what, init) => (String(what).includes("/heartbeat") ? Promise.reject(new TypeError("lost")) : real(what, init));
    });
  }
  await small.call("PATCH", `/api/scanning/devices/${items.find(({ name }) => name === "Tent 1")?.id}`, { gate_id: "south" });
  await small.call("DELETE", `/api/events/${small.id}/gates/tent`);
  await gone.getByTestId("gate-gone").waitFor({ timeout: 60_000 });
  await stop(gone, "gate-gone");
}
