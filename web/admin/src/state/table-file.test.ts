import { expect, test } from "vitest";
import { isUtf16, readTable } from "./table-file.ts";

test("a table in UTF-8 is read as it is, with or without its mark", () => {
  const text = "name\nJosé, 日本\n";
  expect(readTable(new TextEncoder().encode(text))).toEqual({ text, legacy: false });
  expect(readTable(new TextEncoder().encode(`\ufeff${text}`))).toEqual({ text, legacy: false });
});

test("a table of an older spreadsheet keeps its accents, and is said to be one", () => {
  const bytes = Uint8Array.from([0x4a, 0x6f, 0x73, 0xe9, 0x3b]);
  expect(readTable(bytes)).toEqual({ text: "José;", legacy: true });
});

test("UTF-16 is known by its mark", () => {
  expect(isUtf16(Uint8Array.from([0xff, 0xfe, 0x41, 0]))).toBe(true);
  expect(isUtf16(Uint8Array.from([0x41, 0x42]))).toBe(false);
});
