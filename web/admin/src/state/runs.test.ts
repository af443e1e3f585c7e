import { expect, test } from "vitest";
import type { RunWithSteps } from "../../../shared/api/types";
import { mayRetry, passMoments, rowState, sharedProblem } from "./runs.ts";

const run = (change: Partial<RunWithSteps>): RunWithSteps => ({
  id: "r", event_id: "e", kind: "pass", guest_id: "g", state: "open", step: null, tries: 0, problem: null, note: null, next_at: null,
  created_at: "2026-06-07T18:00:00Z", updated_at: "2026-06-07T18:00:09Z", steps: [], ...change,
});

test("a pass that was mailed says when", () => {
  const steps = [{ name: "send-email", tries: 1, began_at: "2026-06-07T18:00:01Z", done_at: "2026-06-07T18:00:02Z" }];
  expect(passMoments(run({ state: "done", steps }))).toEqual([{ at: "2026-06-07T18:00:02Z", words: "Pass sent by e-mail" }]);
});

test("a guest without e-mail has a pass and a reason", () => {
  expect(passMoments(run({ state: "done", note: "no e-mail address" }))[0]?.words).toBe("Pass made: no e-mail address");
});

test("a run that fails says where and why, and may be tried again by hand", () => {
  const failing = run({ step: "send-email", tries: 2, problem: "the mail server refuses", next_at: "2026-06-07T18:01:00Z" });
  expect(passMoments(failing)[0]?.words).toBe("Pass tries again, sending the e-mail: the mail server refuses");
  expect([mayRetry(failing), mayRetry(run({})), mayRetry(run({ state: "gave_up" })), mayRetry(run({ state: "done" }))]).toEqual([true, false, true, false]);
  expect(rowState(run({ state: "gave_up" }))).toBe("Refused");
  expect(rowState(failing)).toBe("Tries again");
  // A draft's pass waits until doors open. A run that is done stays "Sent".
  expect([rowState(failing, true), rowState(run({ state: "done" }), true)]).toEqual(["Mailed when doors open", "Sent"]);
});

test("a reason that several rows share is said once", () => {
  const waits = (problem: string | null) => run({ problem, next_at: "2026-06-07T18:01:00Z", tries: 1 });
  expect(sharedProblem([waits("quota"), waits("quota"), waits("no such user")])).toEqual({ reason: "quota", runs: 2 });
  expect(sharedProblem([waits("quota"), waits("no such user"), waits(null)])).toBe(null);
});

test("a run that waits for the mail server says so, and may be tried by hand", () => {
  const parked = run({ step: "send-email" });
  expect(passMoments(parked)[0]?.words).toBe("Pass waits for the mail server");
  expect(mayRetry(parked)).toBe(true);
});
