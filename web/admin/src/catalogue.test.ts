// Every text of the organiser's app is in its catalogue. So another language is another file beside the English one.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Words, words } from "../../shared/words/organiser/index.ts";
import { literalsInMarkup, literalsInScript, scriptOf } from "../../shared/words/literals.ts";

const folder = import.meta.dirname;
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const components = files.filter((file) => file.endsWith(".svelte"));
const scripts = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
/** Properties of the app's components that no person sees. */
const NAMES = new Set(["name", "id", "tone", "state", "testid", "closeTestid", "saveTestid", "rowTestid", "failureTestid", "describedby"]);
/** Names of keys, which are the same in every language that Admit has. */
const KEYS = new Set(["A", "J", "K", "X", "Z", "Enter"]);

test("there are components and scripts to look at", () => {
  expect(components).toContain(join("routes", "Overview.svelte"));
  expect(scripts).toContain(join("state", "review.ts"));
});

test.each(components)("%s has no text of its own", (file) => {
  const shown = literalsInMarkup(read(file), NAMES).filter((one) => !KEYS.has(one.text));
  expect([...shown, ...literalsInScript(scriptOf(read(file)))]).toEqual([]);
});

test.each(scripts)("%s has no text of its own", (file) => {
  expect(literalsInScript(read(file))).toEqual([]);
});

test("another language has the same names with any texts, and lacks none", () => {
  const { title: _, ...rest } = words.review;
  const other: Words["review"] = { ...rest, title: "Prüfen" };
  // @ts-expect-error The type check must say that a text is missing.
  const lacking: Words["review"] = rest;
  expect([other.title, lacking.title]).toEqual(["Prüfen", undefined]);
});

test("no word of the catalogue is one of the API or of the code", () => {
  const texts = (part: unknown): string[] =>
    typeof part === "string" ? [part] : typeof part === "object" && part !== null ? Object.values(part).flatMap(texts) : [];
  for (const text of texts(words)) expect(text).not.toMatch(/\b[a-z]+_[a-z]+\b|undefined|\bUUID\b|\bms\b/);
});
