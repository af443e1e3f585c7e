import { expect, test } from "vitest";
import { typeName } from "./type-name.ts";

test("a zone is called by its entry type's name, and by itself where the list has none", () => {
  const view = { zone_names: { "vip-1": "VIP lounge" } };
  expect(typeName("vip-1", view)).toBe("VIP lounge");
  expect(typeName("general", view)).toBe("general");
  expect(typeName("constructor", view)).toBe("constructor");
  expect(typeName("vip-1", {})).toBe("vip-1");
  expect(typeName("vip-1", null)).toBe("vip-1");
});
