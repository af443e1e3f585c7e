import { expect, test } from "vitest";
import type { ImportedLog } from "../../../shared/api/types.ts";
import { isNoLog } from "./saved-log.ts";

const result = (more: Partial<ImportedLog>): ImportedLog => ({
  stored: 0, known: 0, waiting: 0, unproven: 0, counted: 0, wrong_lines: 0, errors: [], ...more,
});

test("a file without one scan is no log; a log of another event, or with a broken line, is one", () => {
  expect(isNoLog(result({ wrong_lines: 15, errors: [{ line: 1, message: ": is not JSON" }] }))).toBe(true);
  expect(isNoLog(result({ stored: 3, wrong_lines: 1, errors: [{ line: 4, message: ": is not JSON" }] }))).toBe(false);
  expect(isNoLog(result({ wrong_lines: 2, errors: [{ line: 1, message: "is of event x: import it there" }] }))).toBe(false);
});
