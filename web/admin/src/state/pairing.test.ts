import { expect, test } from "vitest";
import { readDeviceCode } from "./pairing.ts";

test("a device's code is read from its link, its text, and as it is typed", () => {
  const token = "admit_pt_0123456789abcdef0123456789abcdef";
  expect(readDeviceCode(`https://door.example/approve#${token}`)).toBe(token);
  expect(readDeviceCode(` ${token} `)).toBe(token);
  expect(readDeviceCode("0123 4567 89AB cdef 0123 4567 89ab cdef")).toBe(token);
  expect(readDeviceCode("")).toBe("");
});
