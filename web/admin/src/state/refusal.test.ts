import { expect, test } from "vitest";
import { Problem } from "../../../shared/api/client.ts";
import { Refusal } from "./refusal.svelte.ts";

test("a refusal stands at its field until the form is sent again", async () => {
  const wrong = new Refusal({ name: "The name" });
  const refused = new Problem(400, "invalid_request", "", [{ path: "name", message: "must be 1 to 200 characters" }]);
  expect(await wrong.unless(() => Promise.reject(refused))).toBe(false);
  expect([wrong.at, wrong.rest]).toEqual([{ name: "The name must be 1 to 200 characters." }, ""]);
  let meanwhile = wrong.at;
  expect(await wrong.unless(async () => (meanwhile = wrong.at))).toBe(true);
  expect([meanwhile, wrong.at]).toEqual([{}, {}]);
});

test("what fails after the server took it is told above all fields", async () => {
  const wrong = new Refusal({});
  expect(await wrong.unless(() => Promise.reject(new Error("Out of paper")))).toBe(false);
  expect(wrong.rest).toBe("Out of paper");
});
