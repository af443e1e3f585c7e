import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { afterEach, expect, test } from "vitest";
import { budget, firstRoute } from "./budget.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

test("the first route is the entry and what it imports, not what it asks for later", () => {
  const scripts = { "index.js": { isEntry: true, imports: ["words.js"] }, "words.js": { isEntry: false, imports: ["index.js"] }, "page.js": { isEntry: false, imports: ["words.js"] } };
  expect(firstRoute(scripts)).toEqual(["index.js", "words.js"]);
});

test("a build over its budget is refused", async () => {
  const root = mkdtempSync(join(tmpdir(), "admit-budget-"));
  folders.push(root);
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "index.html"), '<script type="module" src="/src/main.ts"></script>');
  writeFileSync(join(root, "src/main.ts"), 'document.title = "one"; void import("./later.ts");');
  const noise = Array.from({ length: 2_000 }, (_, at) => String((at * 7_919) % 10_007)).join("");
  writeFileSync(join(root, "src/later.ts"), `document.body.textContent = "${noise}";`);
  const built = (most: number, pages: string[] = []) => build({ configFile: false, logLevel: "silent", root, plugins: [budget(most, pages)], build: { modulePreload: false } });
  await built(2_000);
  await expect(built(10)).rejects.toThrow("budget");
  // A page that is fetched next counts if it is named.
  await expect(built(2_000, ["later"])).rejects.toThrow("budget");
});
