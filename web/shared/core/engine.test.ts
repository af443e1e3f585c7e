import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

// People write engine.ts by hand as a copy of crates/core/src/wire/engine.rs and its modules. This test compares them field by field.
const rust = ["engine.rs", "engine/shown.rs", "guests.rs"]
  .map((file) => readFileSync(new URL(`../../../crates/core/src/wire/${file}`, import.meta.url), "utf8"))
  .join("\n")
  .replace(/\/\/.*$/gm, "");
const typescript = readFileSync(new URL("./engine.ts", import.meta.url), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");

const snake = (name: string) => name.replace(/(?<=[a-z0-9])([A-Z])/g, "_$1").toLowerCase();

/** The text between the first opening brace at or after `from` and its closing brace. */
function braces(text: string, from: number): string {
  const open = text.indexOf("{", from);
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(open + 1, at);
  }
  throw new Error(`an open brace after ${from}`);
}

const rustBody = (kind: "enum" | "struct", name: string) => braces(rust, rust.indexOf(`pub ${kind} ${name} {`)).replace(/#\[[^\]]*\]/g, "");
const rustFields = (body: string) => [...body.matchAll(/(?:^|[\s,])(?:pub )?([a-z_0-9]+):/g)].map((match) => match[1] ?? "").sort();
const tsFields = (body: string) => [...body.matchAll(/([a-z_0-9]+)\??:/g)].map((match) => match[1] ?? "").sort();

/** The tag and the fields of each variant of a Rust enum. */
function rustVariants(name: string): Map<string, string[]> {
  const body = rustBody("enum", name);
  const found = new Map<string, string[]>();
  for (let rest = body; ; ) {
    const match = /([A-Z][A-Za-z]*)\s*(\{|,|$)/.exec(rest);
    if (match === null) return found;
    const end = match.index + match[0].length;
    if (match[2] === "{") {
      const fields = braces(rest, match.index);
      found.set(snake(match[1] ?? ""), rustFields(fields));
      rest = rest.slice(end + fields.length + 1);
    } else {
      found.set(snake(match[1] ?? ""), []);
      rest = rest.slice(end);
    }
  }
}

/** The tag and the fields of each object in a TypeScript union. A member that is a name is replaced by that interface. */
function tsVariants(name: string): Map<string, string[]> {
  const start = typescript.indexOf(`export type ${name} =`);
  const text = typescript.slice(start, typescript.indexOf(";\n", start));
  const bodies = [...text.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
  for (const [, named] of text.matchAll(/\| ([A-Z][A-Za-z]+)/g)) bodies.push(tsInterface(named ?? ""));
  return new Map(
    bodies.map((body) => [/type: "(\w+)"/.exec(body)?.[1] ?? "", tsFields(body).filter((field) => field !== "type")]),
  );
}

const tsInterface = (name: string) => braces(typescript, typescript.indexOf(`export interface ${name} {`));

describe.each(["Input", "Effect"])("%s", (name) => {
  const variants = rustVariants(name);
  test("has the same variants", () => {
    expect(variants.size).toBeGreaterThan(10);
    expect([...tsVariants(name).keys()].sort()).toEqual([...variants.keys()].sort());
  });
  test.each([...variants])("%s has the same fields", (variant, fields) => {
    expect(tsVariants(name).get(variant)).toEqual(fields);
  });
});

test.each(["Now", "Row", "VerdictView", "LastEntryView", "View", "ListView", "Problem", "HistoryRow", "FoundGuest", "GateView", "Booking", "BookingTicket", "WalkInsView"])("%s has the same fields", (name) => {
  const fields = rustFields(rustBody("struct", name));
  expect(fields.length).toBeGreaterThan(1);
  expect(tsFields(tsInterface(name))).toEqual(fields);
});

test("the phases are the same", () => {
  const phases = [...rustVariants("Phase").keys()].sort();
  const text = /export type Phase =([^;]*);/.exec(typescript)?.[1] ?? "";
  expect([...text.matchAll(/"(\w+)"/g)].map((match) => match[1]).sort()).toEqual(phases);
});
