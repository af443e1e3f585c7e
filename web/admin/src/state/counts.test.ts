import { expect, test } from "vitest";
import type { DeviceView } from "../../../shared/api/types";
import { inWordsOf, insideRange, passages, rangeWords, toCome, withoutTicket } from "./counts.ts";

const never = { re_entry: "never" } as const;
const exits = { re_entry: "after_exit" } as const;
const gap = { re_entry: "after_gap" } as const;
const NOW = Date.parse("2026-11-22T20:00:00Z");

test("where people come again nobody is said to be still to come", () => {
  expect(toCome(never, { entered: 120, expected: 340 })).toBe(220);
  for (const event of [exits, gap]) expect(toCome(event, { entered: 120, expected: 340 })).toBe(null);
  expect(toCome(never, { entered: 3, expected: 2 })).toBe(0);
});

test("inside is a range where phones are silent, scans are missing or tickets were overdrawn, and says which", () => {
  const phone = (change: Partial<DeviceView>) => ({ state: "active", last_seen_at: "2026-11-22T19:59:30Z", pending: 0, missing_count: 0, ...change }) as DeviceView;
  const counted = { inside: 812, inside_over: 0 };
  // An online phone sends its unsent scans in a moment, so they do not widen the range.
  expect(insideRange(counted, [phone({ pending: 9 })], NOW)).toMatchObject({ low: 812, high: 812 });
  const silent = phone({ pending: 24, last_seen_at: "2026-11-22T19:40:00Z" });
  const range = insideRange({ inside: 812, inside_over: 2 }, [silent, phone({ missing_count: 9 })], NOW);
  expect(range).toEqual({ low: 812, high: 847, over: 2, missing: 9, unsent: 24, phones: 1 });
  expect(rangeWords(range)).toBe("the range counts about 24 scans on 1 silent phone, 9 missing scans and 2 entries over the ticket's limit");
  expect(rangeWords(insideRange(counted, [], NOW))).toBe("");
});

test("a ticket that was used again is not told as more persons than it admits", () => {
  const ticket = (entered: number, over = 0, inside = 0, entry_limit = 1) => ({ entered, over, inside, entry_limit });
  expect(passages(never, ticket(1, 1, 1))).toBe("2 of 1");
  expect(passages(exits, ticket(0))).toBe("–");
  expect(passages(exits, ticket(1, 0, 1))).toBe("1 of 1 inside, 1 entry");
  expect(passages(exits, ticket(5, 0, 0, 4))).toBe("0 of 4 inside, 5 entries");
  expect(passages(exits, ticket(1, 1, 1))).toBe("1 of 1 inside, 2 entries, 1 over the limit");
  expect(passages(gap, ticket(2, 0, 2))).toBe("2 entries for 1");
  expect(passages(gap, ticket(2, 1, 2))).toBe("3 entries for 1, 1 over the limit");
});

test("a guest's figure is who came, or who is inside where people come again", () => {
  expect(inWordsOf(never, { actual_count: 0, inside: 0, party_size: 1 })).toBe("–");
  // For a party its size is shown even before anybody of it came.
  expect(inWordsOf(never, { actual_count: 0, inside: 0, party_size: 3 })).toBe("0 of 3");
  expect(inWordsOf(exits, { actual_count: 0, inside: 0, party_size: 3 })).toBe("0 of 3");
  expect(inWordsOf(never, { actual_count: 2, inside: 2, party_size: 3 })).toBe("2 of 3");
  expect(inWordsOf(never, { actual_count: 2, inside: 1, party_size: 1 })).toBe("1 of 1 +1");
  expect(inWordsOf(exits, { actual_count: 5, inside: 1, party_size: 3 })).toBe("1 of 3");
});

test("people without a ticket are told by class, those that nobody counted left out", () => {
  expect(withoutTicket({ staff: 2, crew: 0, child: -1, other: 0 })).toEqual([{ name: "staff", persons: 2 }, { name: "children", persons: -1 }]);
  expect(withoutTicket({ staff: 0, crew: 0, child: 0, other: 0 })).toEqual([]);
});
