/**
 * The browser's part of `make bench`. `crates/bench` writes the input of a measurement into one file, and reads the figures from
 * another. This program runs the real scanner in Chromium between the two. It checks no time itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { coldStart } from "./cold.ts";
import { decide } from "./decide.ts";
import { door } from "./door.ts";
import type { Figure } from "./figure.ts";
import { verdict } from "./verdict.ts";

interface Asked {
  quick: boolean;
  given: never;
}

const MEASUREMENTS: Record<string, (given: never, quick: boolean) => Promise<Figure[]>> = {
  decide,
  verdict,
  cold: coldStart,
  door,
};

export async function main(what = "", askedFile = "", answeredFile = ""): Promise<void> {
  const measure = MEASUREMENTS[what];
  if (!measure) throw new Error(`there is no measurement ${what}; there are ${Object.keys(MEASUREMENTS).join(", ")}`);
  const { quick, given } = JSON.parse(readFileSync(askedFile, "utf8")) as Asked;
  writeFileSync(answeredFile, JSON.stringify(await measure(given, quick)));
}
