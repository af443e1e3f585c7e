// Every text of the scanner is in its catalogue. So another language needs another catalogue and no other change.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formats } from "../../shared/words/scanner/formats.ts";
import { type Catalogue, words } from "../../shared/words/scanner/index.ts";
import { literalsInMarkup, literalsInScript, scriptOf } from "../../shared/words/literals.ts";

const folder = import.meta.dirname;
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const components = files.filter((file) => file.endsWith(".svelte"));
const scripts = files.filter((file) => file.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(file));

test("there are components and scripts to look at", () => {
  expect(components).toContain(join("screens", "Pair.svelte"));
  expect(scripts).toContain(join("state", "words.ts"));
});

test.each(components)("%s has no text of its own", (file) => {
  expect([...literalsInMarkup(read(file)), ...literalsInScript(scriptOf(read(file)))]).toEqual([]);
});

test.each(scripts)("%s has no text of its own", (file) => {
  expect(literalsInScript(read(file))).toEqual([]);
});

test.each([
  ["<p>Try <b>again</b></p>", ["Try", "again"]],
  ["{#if x}<i>One</i>{:else if y}<i>Two</i>{:else}<i>Three</i>{/if}", ["One", "Two", "Three"]],
  ["{#each list as one}{one}: Four{:else}Five{/each}{#key x}Six{/key}{#await x then}Seven{/await}", [": Four", "Five", "Six", "Seven"]],
  ['<input placeholder="Your name" title={`Name of ${device}`} aria-label={wide ? "Wide" : x ?? "Narrow"} />', ["Your name", "Name of", "Wide", "Narrow"]],
  ['{x === "in" ? "In" : "Out"}{n + " persons"}', ["In", "Out", "persons"]],
  ['<Sheet title="Settings" name="settings" steady />', ["Settings"]],
  ['<p class="muted" data-testid="x">{words.pair.title} · {" "}± {count}</p><input id="pin" type="password" autocomplete="off" />', []],
])("what the check finds in the markup %s", (source, texts) => {
  expect(literalsInMarkup(source).map((one) => one.text)).toEqual(texts);
});

test("what the check finds in a script, with its line", () => {
  const source = '<p>x</p>\n<script lang="ts">\n  say("Scan it again.");\n  say(`No lock: ${why}`);\n  throw new Error("no such key");\n  key("ArrowUp");\n</script>';
  expect(literalsInScript(scriptOf(source))).toEqual([
    { line: 3, text: "Scan it again." },
    { line: 4, text: "No lock: " },
  ]);
  expect(literalsInScript("say(`${n} of the ${m}`)")).toEqual([{ line: 1, text: " of the " }]);
});

test("another language has the same names with any texts, and lacks none", () => {
  const { title: _, ...rest } = words.pair;
  const other: Catalogue["pair"] = { ...rest, title: "Gerät koppeln", openThere: (host) => `${host} öffnen` };
  // @ts-expect-error The type check must say that a text is missing.
  const lacking: Catalogue["pair"] = rest;
  expect([other.title, other.openThere("a.example"), lacking.title]).toEqual(["Gerät koppeln", "a.example öffnen", undefined]);
});

test("a number chooses its form by the language's own rule, and is written as the language does", () => {
  const polish = formats("pl");
  const forms = { one: "skan", few: "skany", many: "skanów", other: "skanu" };
  expect([1, 3, 5, 22].map((n) => polish.plural(n, forms))).toEqual(["skan", "skany", "skanów", "skany"]);
  expect(polish.plural(3, { one: "skan", other: "skanu" })).toBe("skanu");
  expect([formats("en-GB").count(2500), formats("de").count(2500), formats("de").tenths(1.5)]).toEqual(["2,500", "2.500", "1,5"]);
});
