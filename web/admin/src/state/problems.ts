/** A refusal of the server in the words of the form: each message at its field, what belongs to none above all. */
import { Problem } from "../../../shared/api/client.ts";
import { dateTime } from "./times.ts";

export interface Wrong {
  /** By field. */
  at: Record<string, string>;
  /** What belongs to no field shown. */
  rest: string;
}
export const nothingWrong = (): Wrong => ({ at: {}, rest: "" });

/**
 * Labels are the form's own: `{ ends_at: "The end" }`. What is no field of it and has an empty one is told in the server's
 * own words. Moments that a message names are told in `zone`.
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

/** How a message begins that says something of its field: "must be 1 to 10", "is no gate of this event". */
const OF_ITS_FIELD = /^(must|can|can't|cannot|may|is|isn't|are|was|were|has|had|holds|needs|names|stands|goes|ends|lies|does|doesn't)\b/;

export const goesOn = (message: string): boolean => OF_ITS_FIELD.test(message);

/** What is said at a field: the label begins a message that goes on with it; a message that is a sentence stands alone. */
export function atField(label: string, message: string): string {
  return sentence(goesOn(message) ? `${label} ${message}` : message);
}

/** Fields that a message names are called as the form calls them. */
export function named(message: string, labels: Record<string, string>): string {
  return message.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (word) => {
    const label = labels[word];
    return label ? label.charAt(0).toLowerCase() + label.slice(1) : word;
  });
}
/** "2026-11-27T20:00:00Z" as a person reads it. */
const timed = (message: string, zone: string): string =>
  message.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (moment) => dateTime(moment, zone));
export function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** An id for a gate from its name: its plain letters and digits, else a number; never one that is there. */
export function gateId(name: string, taken: readonly string[]): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const root = plain.slice(0, 60);
  if (root && !taken.includes(root)) return root;
  const prefix = root || "gate";
  for (let place = root ? 2 : 1; ; place += 1) {
    if (!taken.includes(`${prefix}-${place}`)) return `${prefix}-${place}`;
  }
}
