/** Runs (passes on their way) in words. */
import type { RunView, RunWithSteps } from "../../../shared/api/types";

const STEPS: Record<string, string> = {
  "insert-qr-code": "making the code",
  "generate-qr-png": "drawing the code",
  upload: "storing the picture",
  "send-email": "sending the e-mail",
};
const STATES: Record<RunView["state"], string> = { open: "on its way", done: "done", gave_up: "gave up" };

export const stepWords = (step: string | null): string => (step === null ? "" : (STEPS[step] ?? step.replaceAll(/[-_]/g, " ")));
/** Whether it waits with all others for the mail server: why is told once, by `GET /api/mail/health`. */
const isParked = (run: RunView): boolean => run.state === "open" && run.step === "send-email" && run.next_at === null;
export const stateWords = (run: RunView): string => {
  if (isParked(run)) return "waits for the mail server";
  return run.state === "open" && run.tries > 0 ? "tried again" : (STATES[run.state] ?? run.state);
};

/** Whether a person may start it again now. */
export const mayRetry = (run: RunView): boolean =>
  run.state === "gave_up" || (run.state === "open" && run.next_at !== null) || isParked(run);

/** What a run adds to its guest's story. */
export function passMoments(run: RunWithSteps): { at: string; words: string }[] {
  const mailed = run.steps.find((step) => step.name === "send-email");
  if (run.state === "done") {
    if (run.note !== null) return [{ at: run.updated_at, words: `Pass made: ${run.note}` }];
    return [{ at: mailed?.done_at ?? run.updated_at, words: mailed === undefined ? "Pass made" : "Pass sent by e-mail" }];
  }
  const why = run.problem === null ? "" : `: ${run.problem}`;
  const step = run.step === null || isParked(run) ? "" : `, ${stepWords(run.step)}`;
  return [{ at: run.updated_at, words: `Pass ${stateWords(run)}${step}${why}` }];
}
