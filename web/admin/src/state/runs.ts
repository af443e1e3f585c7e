/** Texts for runs, which make and mail passes. */
import type { RunView, RunWithSteps } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

const { passes, guest } = words;

export const stepWords = (step: string | null): string => (step === null ? "" : (passes.steps[step] ?? step.replaceAll(/[-_]/g, " ")));

/** Whether the run waits with all others for the mail server. The page gives the reason once, from `GET /api/mail/health`. */
export const isParked = (run: Pick<RunView, "state" | "step" | "next_at">): boolean => run.state === "open" && run.step === "send-email" && run.next_at === null;

/** The text for a run in its row. A draft mails nothing, so its passes wait until doors open, whatever other reason there is. */
export function rowState(run: Pick<RunView, "state" | "tries" | "note" | "step" | "next_at">, draft = false): string {
  if (draft && run.state === "open") return passes.rowStates.draft;
  if (isParked(run)) return passes.rowStates.parked;
  if (run.state === "open") return run.tries > 0 ? passes.rowStates.again : passes.rowStates.open;
  if (run.state === "done" && run.note !== null) return passes.rowStates.made;
  return passes.rowStates[run.state];
}
const stateWords = (run: RunView): string => {
  if (isParked(run)) return passes.stateWords.parked;
  return passes.stateWords[run.state === "open" && run.tries > 0 ? "again" : run.state];
};

/** Whether a person may start it again now. */
export const mayRetry = (run: RunView): boolean =>
  run.state === "gave_up" || (run.state === "open" && run.next_at !== null) || isParked(run);

/** The reason that most waiting rows have. The page says it once, above them. */
export function sharedProblem(runs: readonly RunView[]): { reason: string; runs: number } | null {
  const reasons = new Map<string, number>();
  for (const run of runs) if (run.state === "open" && run.problem !== null) reasons.set(run.problem, (reasons.get(run.problem) ?? 0) + 1);
  const [most] = [...reasons].sort((a, b) => b[1] - a[1]);
  return most && most[1] > 1 ? { reason: most[0], runs: most[1] } : null;
}

/** Whether the reason is that no mail server is set up. Then no address is at fault. */
export const noMailServer = (reason: string): boolean => /SMTP_URL|no mail server/i.test(reason);

/** The entries that a run adds to its guest's history. */
export function passMoments(run: RunWithSteps): { at: string; words: string }[] {
  const { moments } = guest;
  const mailed = run.steps.find((step) => step.name === "send-email");
  if (run.state === "done") {
    if (run.note !== null) return [{ at: run.updated_at, words: moments.passMadeNote(run.note) }];
    return [{ at: mailed?.done_at ?? run.updated_at, words: mailed === undefined ? moments.passMade : moments.passMailed }];
  }
  return [{ at: run.updated_at, words: moments.passState(stateWords(run), isParked(run) ? "" : stepWords(run.step), run.problem ?? "") }];
}
