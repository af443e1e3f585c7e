/** The order of the review queue on the page. A new case never moves a case that somebody is about to tap. */

interface Ordered {
  id: string;
}

export interface Steady<Case> {
  /** The shown cases, in the order in which they appeared. */
  shown: Case[];
  /** New cases that are not shown yet, because each would stand before a shown one. */
  fresh: Case[];
}

/**
 * `seen`: the ids shown so far, in their order. `open`: all open cases in the proper order. `settled`: cases that somebody else
 * settled while they were shown; they keep their places.
 */
export function steady<Case extends Ordered>(seen: readonly string[], open: readonly Case[], settled: readonly Case[] = []): Steady<Case> {
  const byId = new Map([...settled, ...open].map((one) => [one.id, one]));
  const shown = seen.flatMap((id) => byId.get(id) ?? []);
  const known = new Set(seen);
  let last = -1;
  open.forEach((one, at) => (last = known.has(one.id) ? at : last));
  const fresh: Case[] = [];
  open.forEach((one, at) => {
    if (known.has(one.id)) return;
    // A case after all shown ones moves none of them.
    if (at > last) shown.push(one);
    else fresh.push(one);
  });
  return { shown, fresh };
}

/** The cases that were open before and are gone now, without those that this page settled. */
export function settledElsewhere<Case extends Ordered>(before: readonly Case[], open: readonly Case[], here: ReadonlySet<string>): Case[] {
  const known = new Set(open.map((one) => one.id));
  return before.filter((one) => !known.has(one.id) && !here.has(one.id));
}
