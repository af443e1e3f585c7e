import { expect, test } from "vitest";
import { discard, leave, leaving, stay, unsaved, watchForm } from "./leaving.svelte.ts";

test("a form without changes is left at once; one with changes once a person says so", () => {
  let dirty = false;
  const end = watchForm(() => dirty);
  const left: string[] = [];
  leave(() => left.push("clean"));
  expect(left).toEqual(["clean"]);
  expect(leaving.then).toBe(null);

  dirty = true;
  expect(unsaved()).toBe(true);
  leave(() => left.push("kept"));
  stay();
  expect(left).toEqual(["clean"]);
  expect(unsaved()).toBe(true);

  leave(() => left.push("discarded"));
  discard();
  expect(left).toEqual(["clean", "discarded"]);
  // The form is being left, so nobody is asked a second time.
  expect(unsaved()).toBe(false);
  end();
});

test("a dialog asks about its own changes, and the page's form behind it stays as it is", () => {
  const end = watchForm(() => true);
  let typed = false;
  const own = (): boolean => typed;
  watchForm(own);
  const closed: string[] = [];
  leave(() => closed.push("clean"), own);
  expect(closed).toEqual(["clean"]);
  typed = true;
  leave(() => closed.push("discarded"), own);
  expect(closed).toEqual(["clean"]);
  discard();
  expect(closed).toEqual(["clean", "discarded"]);
  expect(unsaved()).toBe(true);
  end();
  expect(unsaved()).toBe(false);
});
