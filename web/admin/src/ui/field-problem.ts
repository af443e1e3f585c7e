/** The app's text for an error that the browser finds in a field. */
import { words } from "../../../shared/words/organiser/index.ts";

interface Checked {
  readonly type: string;
  readonly min: string;
  readonly max: string;
  readonly validity: Pick<ValidityState, "valueMissing" | "badInput" | "rangeUnderflow" | "rangeOverflow" | "typeMismatch" | "patternMismatch">;
  readonly validationMessage: string;
  readonly placeholder: string;
}

export function fieldProblem({ type, min, max, validity, validationMessage, placeholder }: Checked): string {
  const { fields } = words.frame;
  if (validity.valueMissing) return fields.missing;
  if (validity.badInput && type === "number") return fields.noNumber;
  if (validity.rangeUnderflow) return fields.atLeast(min);
  if (validity.rangeOverflow) return fields.atMost(max);
  if (validity.typeMismatch && type === "email") return fields.noEmail;
  if (validity.patternMismatch && placeholder) return fields.like(placeholder);
  return validationMessage;
}
