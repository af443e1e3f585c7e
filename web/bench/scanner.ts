/** Pairs a scanner as people do, by the organiser's link. */
import type { CDPSession, Page } from "playwright-core";
import type { Phone } from "../e2e/harness/index.ts";

export interface Place {
  event_id: string;
  gate_id: string;
}

export interface SignIn {
  email: string;
  password: string;
}

const JSON_BODY = { "content-type": "application/json" };

/** Signs in and gives a link that pairs one device. */
export async function pairingLink(url: string, who: SignIn, place: Place): Promise<string> {
  const session = await fetch(`${url}/api/session`, { method: "POST", headers: JSON_BODY, body: JSON.stringify(who) });
  if (!session.ok) throw new Error(`signing in was answered with ${session.status}: ${await session.text()}`);
  const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
  const made = await fetch(`${url}/api/events/${place.event_id}/pairing-tokens`, {
    method: "POST",
    headers: { ...JSON_BODY, cookie },
    body: JSON.stringify({ gate_id: place.gate_id }),
  });
  if (!made.ok) throw new Error(`a pairing token was answered with ${made.status}: ${await made.text()}`);
  return ((await made.json()) as { url: string }).url;
}

/** Opens the link, gives the device a name, and waits until it can scan. */
export async function pairedScanner(phone: Phone, link: string): Promise<Page> {
  const page = await phone.visit(link);
  await page.getByTestId("change-name").click();
  await page.getByTestId("device-name").fill("Bench");
  await page.getByTestId("pair-submit").click();
  await ready(page);
  return page;
}

/** Waits until the list is on the device and verified. */
export async function ready(page: Page): Promise<void> {
  await page.waitForSelector("body[data-phase=ready]", { timeout: 120_000, state: "attached" });
}

/** Slows the page's thread. */
export async function throttle(page: Page, rate: number): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
  return session;
}
