// Shared by the organiser's browser tests: a signed-in browser, and a check of how a page looks.
import type { Page } from "playwright-core";
import { type Admit, barriers, shot, until } from "./harness/index.ts";
import { still } from "./scanner-kit.ts";

/** The sizes of an organiser's computer screen and of a phone. */
export const DESK = { width: 1440, height: 900 };
const HAND = { width: 390, height: 844 };

export async function signIn(page: Page, admit: Admit, email = admit.demo.email, password = admit.demo.password): Promise<void> {
  await page.getByTestId("email").fill(email);
  await page.getByTestId("password").fill(password);
  await page.getByTestId("sign-in").click();
  await page.getByTestId("sign-in").waitFor({ state: "detached" });
}

/** Whether the page scrolls although its content fits the screen. */
const scrollsForNothing = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const end = document.querySelector("main")?.getBoundingClientRect().bottom ?? clientHeight;
    return scrollHeight > clientHeight && end < clientHeight;
  });

/** Texts that are cut off without an ellipsis. */
const cut = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const out: string[] = [];
    for (const one of document.querySelectorAll<HTMLElement>("main button, main h1, main h2, main dd, main th, .tabbar a, .tabbar button")) {
      if (one.offsetParent !== null && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline") out.push(one.textContent?.trim() ?? "");
    }
    return out;
  });

/** Checks a page in both themes and both sizes: with axe, and for texts that are cut off or too wide. Takes a picture of each. */
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

/** The event's state on its page. */
export const eventStatus = (page: Page): Promise<string | null> => page.getByTestId("event-status").getAttribute("data-state");

/** Goes to a page of the event by its navigation. */
export async function goTo(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
}

/** Waits for this message at the bottom of the page. */
export const toastSays = (page: Page, words: string): Promise<void> => page.getByTestId("toast").filter({ hasText: words }).first().waitFor();

/** Opens the pairing drawer and asks for a code. `gate`: the gate's displayed name. */
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
