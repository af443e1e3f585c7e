import { expect, test } from "vitest";
import { firstGate, readDeviceCode } from "./pairing.ts";

test("a device's code is read from its link, its text, and as it is typed", () => {
  const token = "admit_pt_0123456789abcdef0123456789abcdef";
  expect(readDeviceCode(`https://door.example/approve#${token}`)).toBe(token);
  expect(readDeviceCode(` ${token} `)).toBe(token);
  expect(readDeviceCode("0123 4567 89AB cdef 0123 4567 89ab cdef")).toBe(token);
  expect(readDeviceCode("")).toBe("");
});

test("a pairing begins at the gate that the page spoke of, else at the only one", () => {
  const gates = [{ id: "north" }, { id: "vip" }];
  expect(firstGate(gates, "vip")).toBe("vip");
  expect(firstGate(gates, "1")).toBe("");
  expect(firstGate([{ id: "vip" }], "1")).toBe("vip");
  expect(firstGate([], "vip")).toBe("");
});
