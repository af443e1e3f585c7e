import { expect, test } from "vitest";
import { admitted, passages } from "./counts.ts";

const never = { re_entry: "never" } as const;
const exits = { re_entry: "after_exit" } as const;
const gap = { re_entry: "after_gap" } as const;

test("where people come again, entries are not called persons, and nobody is said to be still to come", () => {
  const evening = { entered: 120, expected: 340 };
  expect(admitted(never, evening)).toEqual({ title: "Admitted", beside: "of 340 expected", toCome: 220 });
  for (const event of [exits, gap]) {
    expect(admitted(event, evening)).toEqual({ title: "Entries", beside: "340 expected; whoever comes again counts again", toCome: null });
  }
  // Ann came twice, Bo not yet: no figure says that all are here.
  expect(admitted(exits, { entered: 2, expected: 2 }).toCome).toBe(null);
  expect(admitted(never, { entered: 3, expected: 2 }).toCome).toBe(0);
});

test("a ticket that was used again is not told as more persons than it admits", () => {
  const ticket = (entered: number, over = 0, inside = 0, entry_limit = 1) => ({ entered, over, inside, entry_limit });
  expect(passages(never, ticket(1, 1, 1))).toBe(null);
  expect(passages(exits, ticket(0))).toBe(null);
  expect(passages(exits, ticket(1, 0, 1))).toBe("1 of 1 inside, 1 entry");
  expect(passages(exits, ticket(2, 0, 1))).toBe("1 of 1 inside, 2 entries");
  expect(passages(exits, ticket(5, 0, 0, 4))).toBe("0 of 4 inside, 5 entries");
  expect(passages(exits, ticket(1, 1, 1))).toBe("1 of 1 inside, 2 entries, 1 of them beyond the ticket");
  expect(passages(gap, ticket(2, 0, 2))).toBe("2 entries, for 1");
  expect(passages(gap, ticket(2, 1, 2))).toBe("3 entries, for 1, 1 of them beyond the ticket");
});
