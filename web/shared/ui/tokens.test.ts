import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");

type Tokens = Record<string, string>;

/** The declarations of the first block that follows `selector`. */
function block(selector: string): Tokens {
  const start = css.indexOf(selector);
  if (start < 0) throw new Error(`no block ${selector}`);
  const open = css.indexOf("{", start + selector.length - 1);
  const body = css.slice(open + 1, css.indexOf("}", open));
  const found: Tokens = {};
  for (const declaration of body.split(";")) {
    const colon = declaration.indexOf(":");
    if (colon > 0) found[declaration.slice(0, colon).trim()] = declaration.slice(colon + 1).trim();
  }
  return found;
}

function luminance(hex: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(tokens: Tokens, a: string, b: string): number {
  const [one, two] = [luminance(tokens[a] ?? ""), luminance(tokens[b] ?? "")];
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
}

const light = block(":root {");
const night = { ...light, ...block(':root[data-theme="night"] {') };

const high = { ...light, ...block(':root[data-theme="contrast"] {') };

describe.each([
  ["light", light],
  ["night", night],
  ["contrast", high],
])("the %s theme", (_name, tokens) => {
  test.each([
    ["--text", 7],
    ["--muted", 4.5],
    ["--action", 4.5],
    ["--warn", 4.5],
    ["--danger", 4.5],
    ["--border", 3],
    ["--focus", 3],
  ])("%s can be read on both surfaces", (token, least) => {
    expect(contrast(tokens, token, "--surface")).toBeGreaterThanOrEqual(least);
    expect(contrast(tokens, token, "--raised")).toBeGreaterThanOrEqual(least);
  });

  test.each(["ok", "warn", "danger"])("%s can be read on its own surface", (state) => {
    expect(contrast(tokens, `--${state}`, `--${state}-surface`)).toBeGreaterThanOrEqual(4.5);
  });

  test("the navigation can be read", () => {
    for (const surface of ["--nav", "--nav-on"]) {
      expect(contrast(tokens, "--nav-text", surface)).toBeGreaterThanOrEqual(7);
      expect(contrast(tokens, "--nav-muted", surface)).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("text on a button and on the offline pill can be read", () => {
    expect(contrast(tokens, "--on-action", "--action")).toBeGreaterThanOrEqual(4.5);
    expect(contrast(tokens, "--on-pill", "--pill")).toBeGreaterThanOrEqual(4.5);
  });
});

test("the device's own wish for dark gives the same night", () => {
  expect(block(":root:not([data-theme]) {")).toEqual(block(':root[data-theme="night"] {'));
});

test.each(["admit", "already-in", "check", "refuse", "unknown"])("verdict %s has 7:1, in sun and in the dark", (name) => {
  expect(contrast(light, `--verdict-${name}-text`, `--verdict-${name}`)).toBeGreaterThanOrEqual(6.95);
});

test("light means go, dark means stop", () => {
  const l = (name: string) => luminance(light[`--verdict-${name}`] ?? "");
  expect(l("admit")).toBeGreaterThan(l("already-in"));
  expect(l("already-in")).toBeGreaterThan(l("check"));
  expect(l("check")).toBeGreaterThan(l("refuse"));
});

test("no rule of the base styles borrows a verdict colour", () => {
  const base = readFileSync(new URL("./base.css", import.meta.url), "utf8");
  expect(base).not.toContain("--verdict-");
});
