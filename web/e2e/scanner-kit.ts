// Shared by the scanner's browser tests: an event made by the organiser's API, and paired phones.
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { type Admit, Phone, until, wedge } from "./harness/index.ts";

/** The staff PIN of every prepared event. */
export const PIN = "4711";

/** Persons in and out as the server counts them. */
export interface Occupancy {
  inside: number;
  inside_over: number;
  entered: number;
  exited: number;
  open_incidents: number;
}

/** A ticket to make; a barcode is all it needs. */
export interface Ticket {
  barcode: string;
  entry_limit?: number;
  gate_ids?: string[];
  valid_from?: string;
  expires_at?: string;
  order_id?: string;
  guest?: { name: string; flag?: string };
}

/** The moment this many hours from now, in the API's form. */
export const hours = (from: number): string => new Date(Date.now() + from * 3_600_000).toISOString();

/** An event on a running server. The tests change and read it with an API token. */
export class Doors {
  /** Ids of the event's first tickets, by code. The API's lists contain no codes. */
  readonly #ids = new Map<string, string>();

  private constructor(
    readonly admit: Admit,
    readonly id: string,
    readonly token: string,
  ) {}

  /** Makes a live event with the gates `north`, `south` and `way-out` and these tickets. `token`: for a server that is not the demo. */
  static async open(
    admit: Admit,
    tickets: readonly Ticket[],
    more: Record<string, unknown> = {},
    token = admit.demo.api_token,
  ): Promise<Doors> {
    const event = { name: "Doors", starts_at: hours(-1), ends_at: hours(8), staff_pin: PIN, status: "live", gates: [], ...more };
    const { id } = await call<{ id: string }>(admit.url, token, "POST", "/api/events", event);
    const doors = new Doors(admit, id, token);
    for (const [gate, name, direction] of [
      ["north", "North", "in"],
      ["south", "South", "in"],
      ["way-out", "Way out", "out"],
    ]) {
      await doors.call("POST", `/api/events/${id}/gates`, { id: gate, name, direction });
    }
    if (tickets.length > 0) {
      const made = await doors.call<{ id: string; barcode: string }[]>("POST", `/api/events/${id}/tickets`, tickets);
      for (const ticket of made) doors.#ids.set(ticket.barcode, ticket.id);
    }
    return doors;
  }

  call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    return call<T>(this.admit.url, this.token, method, path, body);
  }

  /** Changes the ticket with this code. */
  async change(code: string, what: Record<string, unknown>): Promise<void> {
    const id = this.#ids.get(code);
    if (!id) throw new Error(`the event was not opened with a ticket ${code}`);
    await this.call("PATCH", `/api/tickets/${id}`, what);
  }

  occupancy(): Promise<Occupancy> {
    return this.call("GET", `/api/events/${this.id}/occupancy`);
  }

  /** The scans on the server. A claim and its final are one scan, although the API lists both. */
  async scans(): Promise<{ scan_id: string }[]> {
    const { items } = await this.call<{ items: { scan_id: string }[] }>("GET", `/api/events/${this.id}/scans?limit=200`);
    return [...new Map(items.map((scan) => [scan.scan_id, scan])).values()];
  }

  async link(gate: string): Promise<string> {
    return (await this.call<{ url: string }>("POST", `/api/events/${this.id}/pairing-tokens`, { gate_id: gate })).url;
  }

  /** Pairs a phone at a gate and waits until it scans. */
  async pair(phone: Phone, gate: string, name = gate): Promise<Page> {
    const page = await phone.visit(await this.link(gate));
    await page.getByTestId("change-name").click();
    await page.getByTestId("device-name").fill(name);
    await page.getByTestId("pair-submit").click();
    await ready(page);
    return page;
  }
}

async function call<T>(url: string, token: string, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path} gave ${answer.status}: ${await answer.text()}`);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** The scanner scans. */
export async function ready(page: Page): Promise<void> {
  await page.getByTestId("scan").waitFor({ timeout: 30_000 });
}

/** Types a code as a hardware scanner does, and waits for a new verdict. Gives the verdict's screen. */
export async function typed(page: Page, code: string, delay = 0): Promise<string> {
  return answered(page, () => wedge(page, code, delay));
}

/** Does something, waits for a new verdict, and gives its screen. */
export async function answered(page: Page, act: () => Promise<unknown>): Promise<string> {
  const before = await face(page);
  await act();
  const after = await until(
    "a verdict",
    async () => {
      const now = await face(page);
      return now !== null && now.mark !== before?.mark && now;
    },
    { every: 20 },
  );
  return after.screen;
}

/** The verdict on the screen, or else in the strip. `mark` differs for each verdict, even for codes without a scan. */
async function face(page: Page): Promise<{ screen: string; mark: string } | null> {
  return page.evaluate(() => {
    const full = document.querySelector<HTMLElement>('[data-testid="verdict"]');
    const shown = full ?? document.querySelector<HTMLElement>('[data-testid="strip"]');
    if (shown === null) return null;
    const { screen = "", scanId = "" } = shown.dataset;
    return { screen, mark: `${scanId} ${screen === "not_a_ticket" && full !== null ? "full" : screen}` };
  });
}

/** Dismisses the verdict. */
export async function next(page: Page): Promise<void> {
  // A verdict that has just replaced another one cannot be dismissed yet.
  const tapped = () =>
    page.evaluate(() => {
      const button = document.querySelector<HTMLElement>('[data-testid="next"]');
      if (button?.getAttribute("aria-disabled") === "true") return false;
      button?.click();
      return true;
    });
  await until("Next to be ready", tapped, { every: 20 });
  await until("the camera again", async () => (await page.getByTestId("verdict").count()) === 0, { every: 20 });
}

/** Undoes the last scan. Ten seconds after an entry the scanner asks first, and a slow machine is that late. */
export async function undo(page: Page): Promise<void> {
  await page.getByTestId("undo").click();
  const [asks, undone] = [page.getByTestId("confirm-undo"), page.getByTestId("undone")];
  await asks.or(undone).waitFor();
  if ((await asks.count()) > 0) await asks.click();
  await undone.waitFor();
}

export const headline = (page: Page): Promise<string | null> => page.getByTestId("headline").textContent();

/** Waits until the server has all scans of this phone. */
export async function synced(page: Page, within = 60_000): Promise<void> {
  await until(
    "all scans to be sent",
    () => page.locator('[data-testid="pill"][data-unsent="0"][data-online="true"]').count(),
    { within },
  );
}

/** Syncs at once, by the button in the sheet. */
export async function syncNow(page: Page): Promise<void> {
  await page.getByTestId("pill").click();
  await page.getByTestId("sync-now").click();
  await page.getByTestId("close-sheet").click();
}

/** The whole text of the status label, of which the label shows only the first part. */
export const pillText = async (page: Page): Promise<string> => (await page.getByTestId("pill").getAttribute("aria-label")) ?? "";

/** The version of the guest list that this phone holds. */
export const listVersion = (page: Page): Promise<string | null> => page.getByTestId("pill").getAttribute("data-list-version");

/** The scans this phone knows, newest first. */
export async function history(page: Page): Promise<{ id: string; sync: string }[]> {
  await page.getByTestId("open-history").click();
  await page.getByTestId("sheet-history").waitFor();
  const rows = await page.getByTestId("history-row").evaluateAll((all) =>
    all.map((row) => ({ id: row.dataset["scanId"] ?? "", sync: row.dataset["sync"] ?? "" })),
  );
  await page.getByTestId("close-sheet").click();
  return rows;
}

/** The id of the scan on the screen. */
export async function shownScan(page: Page): Promise<string> {
  const id = await page.getByTestId("verdict").getAttribute("data-scan-id");
  expect(id).toBeTruthy();
  return id ?? "";
}

/** Ends all animations, so that pictures and contrasts are final. */
export async function still(page: Page): Promise<void> {
  await until("the screen to be still", () =>
    page.evaluate(() =>
      document.getAnimations().every((one) => one.playState !== "running" || one.effect?.getTiming().iterations === Infinity),
    ),
  );
}

/** Opens phones for one test file. `end` closes them all. */
export function phoneBox(): { open: typeof Phone.open; end(): Promise<void> } {
  const phones: Phone[] = [];
  return {
    async open(options) {
      const phone = await Phone.open(options);
      phones.push(phone);
      return phone;
    },
    async end() {
      await Promise.all(phones.splice(0).map((phone) => phone.close()));
    },
  };
}
