import { beforeEach, expect, test } from "vitest";
import { forgetLink, pairingLink, type Place } from "./link.ts";

const ORIGIN = "https://door.example";
let kept: Map<string, string>;
let bar: string;
beforeEach(() => {
  kept = new Map();
  bar = "";
});

function open(hash: string): Place {
  return {
    location: { hash, href: `${ORIGIN}/scan/${hash}`, pathname: "/scan/", search: "", origin: ORIGIN },
    history: { replaceState: (_, __, url) => void (bar = String(url)) },
    storage: () => ({
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    }),
  };
}

test("a pairing link is taken out of the address bar, and a reload still has it", () => {
  const link = { kind: "link", link: `${ORIGIN}/scan/#pair=abc` };
  expect(pairingLink(open("#pair=abc"))).toEqual(link);
  expect(bar).toBe("/scan/");
  expect(pairingLink(open(""))).toEqual(link);
});

test("a link that was used is not offered again", () => {
  pairingLink(open("#pair=abc"));
  forgetLink(open(""));
  expect(pairingLink(open(""))).toEqual({ kind: "nothing" });
});

test.each(["#pair=", "#pear=abc", "#x"])("a link without a code (%s) is told, and takes the place of an older one", (hash) => {
  pairingLink(open("#pair=abc"));
  expect(pairingLink(open(hash))).toEqual({ kind: "bad" });
  expect(pairingLink(open(""))).toEqual({ kind: "nothing" });
});

test("without a place to keep it the link works all the same", () => {
  const blocked = () => {
    throw new DOMException("site data is blocked", "SecurityError");
  };
  expect(pairingLink({ ...open("#pair=abc"), storage: blocked }).kind).toBe("link");
  expect(pairingLink({ ...open(""), storage: blocked }).kind).toBe("nothing");
});
