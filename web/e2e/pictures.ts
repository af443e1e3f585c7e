/** Takes the README's pictures with the real server, an example event and a browser. Run `node e2e/pictures.mjs` in `web/`. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { evening, lumaList } from "./evening.ts";
import { Admit, Phone, root, until } from "./harness/index.ts";
import { signIn } from "./organiser-kit.ts";
import { ready, still, typed } from "./scanner-kit.ts";

const DESK = { width: 1280, height: 800 };
const HAND = { width: 390, height: 780 };

async function picture(page: Page, name: string): Promise<void> {
  await still(page);
  await page.screenshot({ path: join(root, "docs/images", `${name}.png`) });
}

export async function main(): Promise<void> {
  const admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
  const phones: Phone[] = [];
  try {
    const { live, draft, codes } = await evening(admit);
    const desk = await Phone.open({ name: "pictures", camera: "none", size: DESK, scale: 2 });
    phones.push(desk);
    const page = await desk.visit(`${admit.url}/events/${draft}/overview`);
    await signIn(page, admit);
    await page.getByTestId("check-guests").waitFor();
    await picture(page, "overview");

    // A phone at the door without a network. Its scans appear in the pictures below.
    const phone = await Phone.open({ name: "door", size: HAND, scale: 2 });
    phones.push(phone);
    await page.goto(`${admit.url}/events/${live}/devices?pair=1`);
    await page.getByTestId("pair-gate").selectOption("main");
    await page.getByTestId("pair").click();
    const link = await until("a pairing link", () => page.getByTestId("pairing-url").textContent());
    const scanner = await phone.visit(link);
    // The name of the code's gate appears after the server's answer and moves the button below. A click before that would miss it.
    await scanner.getByTestId("pair-place").waitFor();
    await scanner.getByTestId("change-name").click();
    await scanner.getByTestId("device-name").fill("Main 4");
    await scanner.keyboard.press("Enter");
    await ready(scanner);
    await phone.context.setOffline(true);
    await typed(scanner, codes[0] ?? "");
    await picture(scanner, "scanner");
    await phone.context.setOffline(false);

    await page.goto(`${admit.url}/events/${live}/live`);
    await page.getByTestId("arrival").first().waitFor();
    await page.getByTestId("stream-state").filter({ hasText: "Up to date" }).waitFor();
    await picture(page, "live");
    await page.goto(`${admit.url}/events/${live}/review`);
    await page.getByTestId("incident").first().waitFor();
    await until("the facts", async () => (await page.getByTestId("case-detail").textContent())?.includes("counted"));
    await page.mouse.move(0, 0);
    await picture(page, "review");
    await page.goto(`${admit.url}/events/${live}/guests?sort=last`);
    await page.getByTestId("guest").first().waitFor();
    await page.getByTestId("chip-inside").locator("em").waitFor();
    await picture(page, "guests");
    await page.goto(`${admit.url}/events/${draft}/import`);
    await page.getByTestId("csv-file").setInputFiles({ name: "luma-harbour.csv", mimeType: "text/csv", buffer: Buffer.from(lumaList()) });
    await page.getByTestId("import-column").first().waitFor();
    await until("the preview", async () => /\d/.test((await page.getByTestId("csv-import").textContent()) ?? ""));
    await picture(page, "import");
  } finally {
    for (const phone of phones) await phone.close();
    await admit.kill("SIGTERM");
  }
}
