import { expect, test } from "vitest";
import { countingOf } from "./count.ts";

test("numbers and nouns follow their language", () => {
  const english = countingOf("en-GB");
  const guests = { one: "guest", other: "guests" };
  expect([0, 1, 1_140].map((value) => english.count(value, guests))).toEqual(["0 guests", "1 guest", "1,140 guests"]);
  expect(english.decimal(3.0462, 1)).toBe("3.0");
  expect(english.list(["North", "South", "Way out"])).toBe("North, South and Way out");
  // For a language with more plural forms than English, the catalogue gives each form.
  const polish = countingOf("pl");
  const goście = { one: "gość", few: "goście", many: "gości", other: "gościa" };
  expect([1, 3, 5].map((value) => polish.form(value, goście))).toEqual(["gość", "goście", "gości"]);
});
