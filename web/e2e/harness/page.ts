import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { folder } from "./places.ts";

/** Takes a picture of the page into target/shots, for people. */
export async function shot(page: Page, name: string): Promise<string> {
  const path = join(folder("shots"), `${name}.png`);
  await page.screenshot({ path });
  return path;
}

/** Types a code as a hardware scanner does: keys without pause, then Enter. */
export async function wedge(page: Page, text: string, delay = 0): Promise<void> {
  await page.keyboard.type(text, { delay });
  await page.keyboard.press("Enter");
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Checks the page for barriers to people with disabilities, by axe. Gives one line for each broken rule. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    interface Result {
      violations: { id: string; help: string; nodes: { target: unknown[] }[] }[];
    }
    const { axe } = window as unknown as { axe: { run(root: Document, options: object): Promise<Result> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const result = await axe.run(document, { runOnly: tags });
    return result.violations.map(
      ({ id, help, nodes }) => `${id}: ${help} (${nodes.map((node) => node.target.join(" ")).join(", ")})`,
    );
  });
}
