import { expect, test } from "vitest";
import { leftOut, meant, requests, sum } from "./resend.ts";

const counts = { mailed: 2, no_email: 1, code_of_another: 0, ticket_not_active: 3, just_sent: 0, not_found: 0 };

test("guests by id are asked for five hundred at a time, and a search as it is", () => {
  const ids = Array.from({ length: 1_001 }, (_, n) => String(n));
  const sizes = requests({ guest_ids: ids }).map((one) => ("guest_ids" in one ? one.guest_ids.length : 0));
  expect(sizes).toEqual([500, 500, 1]);
  expect(requests({ filter: { q: "", state: "to_come" } })).toEqual([{ filter: { state: "to_come" } }]);
});

test("who gets no pass is told by reason, and everybody is counted once", () => {
  const all = sum([counts, counts]);
  expect(all.mailed).toBe(4);
  expect(meant(all)).toBe(12);
  expect(leftOut(counts)).toBe("1 without e-mail · 3 whose ticket is not valid");
  expect(leftOut({ ...counts, no_email: 0, ticket_not_active: 0 })).toBe("");
});
