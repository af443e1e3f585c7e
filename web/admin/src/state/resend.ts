/** Sends passes of many guests again: the request, and texts for its numbers. */
import { api } from "../../../shared/api/client";
import type { ResentMany } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser/index.ts";

const { picks: said } = words.guests;

/** The most guests in one request. */
export const NAMED = 500;

/** The guests: by id, or all whom the list's search finds. */
export type Whom = { guest_ids: readonly string[] } | { filter: Readonly<Record<string, string>> };

/** The requests for these guests. */
export function requests(whom: Whom): Whom[] {
  if (!("guest_ids" in whom)) return [{ filter: Object.fromEntries(Object.entries(whom.filter).filter(([, value]) => value !== "")) }];
  const parts = Math.ceil(whom.guest_ids.length / NAMED);
  return Array.from({ length: parts }, (_, part) => ({ guest_ids: whom.guest_ids.slice(part * NAMED, (part + 1) * NAMED) }));
}

const NONE: ResentMany = { mailed: 0, no_email: 0, code_of_another: 0, ticket_not_active: 0, just_sent: 0, not_found: 0 };
const REASONS = ["no_email", "code_of_another", "ticket_not_active", "just_sent", "not_found"] as const;

export function sum(parts: readonly ResentMany[]): ResentMany {
  return parts.reduce((all, part) => Object.fromEntries(Object.entries(all).map(([key, value]) => [key, value + part[key as keyof ResentMany]])) as unknown as ResentMany, NONE);
}

/** Sends the passes, or with `dry_run` only counts them. */
export async function resendMany(base: string, whom: Whom, dry_run: boolean): Promise<ResentMany> {
  const parts: ResentMany[] = [];
  for (const request of requests(whom)) parts.push(await api.post<ResentMany>(`${base}/guests/resend`, { ...request, dry_run }));
  return sum(parts);
}

/** The number of all chosen guests. */
export const meant = (counts: ResentMany): number => counts.mailed + REASONS.reduce((all, reason) => all + counts[reason], 0);

/** A text that says which guests get nothing and why. Empty if everybody gets their pass. */
export function leftOut(counts: ResentMany): string {
  return REASONS.filter((reason) => counts[reason] > 0)
    .map((reason) => said.leftOut[reason](counts[reason]))
    .join(" · ");
}
