import { expect, test } from "vitest";
import { fieldProblem } from "./field-problem.ts";

const fine = { valueMissing: false, badInput: false, rangeUnderflow: false, rangeOverflow: false, typeMismatch: false, patternMismatch: false };
const said = (validity: Partial<typeof fine>, change: object = {}) =>
  fieldProblem({ type: "text", min: "1", max: "10000", placeholder: "", validationMessage: "the browser's own words", validity: { ...fine, ...validity }, ...change });

test("what the browser finds wrong is said in our words, and in its own where we have none", () => {
  expect(said({ valueMissing: true })).toBe("Fill this in.");
  expect(said({ badInput: true }, { type: "number" })).toBe("Give a number.");
  expect(said({ rangeUnderflow: true }, { type: "number" })).toBe("Give 1 or more.");
  expect(said({ rangeOverflow: true }, { type: "number" })).toBe("Give 10000 or less.");
  expect(said({ typeMismatch: true }, { type: "email" })).toBe("This is no e-mail address. One looks like ana@example.org.");
  expect(said({ patternMismatch: true }, { placeholder: "06:00" })).toBe("Write it as in 06:00.");
  expect(said({ typeMismatch: true }, { type: "url" })).toBe("the browser's own words");
});
