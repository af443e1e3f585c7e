/** Turns a refusal of the server into texts for a form: a message at each field, and the rest above all fields. */
import { Problem } from "../../../shared/api/client.ts";
import { dateTime } from "./times.ts";

export interface Wrong {
  /** By field. */
  at: Record<string, string>;
  /** The messages that belong to no field of the form. */
  rest: string;
}
export const nothingWrong = (): Wrong => ({ at: {}, rest: "" });

/**
 * `labels` has the form's label of each field: `{ ends_at: "The end" }`. A message about another field, or about one with an empty
 * label, keeps the server's text. Moments in messages are shown in `zone`.
 */
export function inWords(error: unknown, labels: Record<string, string>, zone = "UTC"): Wrong {
  if (!(error instanceof Problem)) return { at: {}, rest: error instanceof Error ? error.message : String(error) };
  const wrong = nothingWrong();
  const rest: string[] = [];
  for (const { path, message } of error.errors) {
    const label = labels[path];
    if (label) wrong.at[path] = atField(label, named(timed(message, zone), labels));
    else rest.push(label === "" ? named(timed(message, zone), labels) : `${path} ${message}`.trim());
  }
  if (error.errors.length === 0) rest.push(error.message);
  wrong.rest = rest.map((text) => sentence(timed(text, zone))).join(" ");
  return wrong;
}

/** The beginning of a message that continues its field's name: "must be 1 to 10", "is no gate of this event". */
const OF_ITS_FIELD = /^(must|can|can't|cannot|may|is|isn't|are|was|were|has|had|holds|needs|names|stands|goes|ends|lies|does|doesn't)\b/;

export const goesOn = (message: string): boolean => OF_ITS_FIELD.test(message);

/** The text at a field. The label comes before a message that continues it. A message that is a whole sentence has no label. */
export function atField(label: string, message: string): string {
  return sentence(goesOn(message) ? `${label} ${message}` : message);
}

/** Replaces names of fields in a message by the form's labels. */
export function named(message: string, labels: Record<string, string>): string {
  return message.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (word) => {
    const label = labels[word];
    return label ? label.charAt(0).toLowerCase() + label.slice(1) : word;
  });
}
/** Replaces moments such as "2026-11-27T20:00:00Z" in a message by readable times. */
const timed = (message: string, zone: string): string =>
  message.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (moment) => dateTime(moment, zone));
export function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** Makes an id for a gate from the letters a–z and digits of its name, or from a number. It is never a taken one. */
export function gateId(name: string, taken: readonly string[]): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const root = plain.slice(0, 60);
  if (root && !taken.includes(root)) return root;
  const prefix = root || "gate";
  for (let place = root ? 2 : 1; ; place += 1) {
    if (!taken.includes(`${prefix}-${place}`)) return `${prefix}-${place}`;
  }
}
