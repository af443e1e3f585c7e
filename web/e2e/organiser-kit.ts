// What the organiser's browser tests share: a desk that is signed in, and a look at a page as people see it.
import type { Page } from "playwright-core";
import { type Admit, barriers, shot, until } from "./harness/index.ts";
import { still } from "./scanner-kit.ts";

/** A desk, and a phone in the hand of an organiser. */
export const DESK = { width: 1440, height: 900 };
const HAND = { width: 390, height: 844 };

export async function signIn(page: Page, admit: Admit, email = admit.demo.email, password = admit.demo.password): Promise<void> {
  await page.getByTestId("email").fill(email);
  await page.getByTestId("password").fill(password);
  await page.getByTestId("sign-in").click();
  await page.getByTestId("sign-in").waitFor({ state: "detached" });
}

/** What ends on the screen does not scroll. */
const scrollsForNothing = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const end = document.querySelector("main")?.getBoundingClientRect().bottom ?? clientHeight;
    return scrollHeight > clientHeight && end < clientHeight;
  });

/** Words that are cut off although nothing says so. */
const cut = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const out: string[] = [];
    for (const one of document.querySelectorAll<HTMLElement>("main button, main h1, main h2, main dd, main th, .tabbar a, .tabbar button")) {
      if (one.offsetParent !== null && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline") out.push(one.textContent?.trim() ?? "");
    }
    return out;
  });

/** Axe by day and by night, on a desk and on a phone, a picture of each, and whether anything is cut off or too wide. */
export async function look(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const [size, where] of [[DESK, "desk"], [HAND, "phone"]] as const) {
    await page.setViewportSize(size);
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await still(page);
      found.push(...(await barriers(page)).map((barrier) => `${name} (${where}, ${scheme}) ${barrier}`));
      await shot(page, `organiser-${name}-${where}-${scheme}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) found.push(`${name} is ${wide} px too wide for a ${where}`);
    found.push(...(await cut(page)).map((text) => `${name} (${where}) cuts off “${text}”`));
    if (await scrollsForNothing(page)) found.push(`${name} (${where}) scrolls, and all of it is on the screen`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(DESK);
  return found;
}

/** The event's state, as its page says it. */
export const eventStatus = (page: Page): Promise<string | null> => page.getByTestId("event-status").getAttribute("data-state");

/** Goes to a page of the event by its navigation. */
export async function goTo(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
}

/** A message at the bottom of the page. */
export const toastSays = (page: Page, words: string): Promise<void> => page.getByTestId("toast").filter({ hasText: words }).first().waitFor();

/** Opens the pairing drawer and asks for a code at a gate, named as people see it. */
export async function pairingCode(page: Page, gate: string): Promise<string> {
  if ((await page.getByTestId("pair-drawer").count()) === 0) await page.getByTestId("open-pair").click();
  await page.getByTestId("pair-gate").selectOption({ label: gate });
  await page.getByTestId("pair").click();
  return until("a pairing link", () => page.getByTestId("pairing-url").textContent());
}

/** Fills a day and its time: "2027-01-10T20:00". */
export async function fillMoment(page: Page, id: string, value: string): Promise<void> {
  await page.locator(`#${id}`).fill(value.slice(0, 10));
  await page.locator(`#${id}-time`).fill(value.slice(11));
}
export const moment = async (page: Page, id: string): Promise<string> => `${await page.locator(`#${id}`).inputValue()}T${await page.locator(`#${id}-time`).inputValue()}`;
