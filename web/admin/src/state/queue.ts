/** The queue as somebody looks at it: what is new never moves what is under their finger. */

interface Ordered {
  id: string;
}

export interface Steady<Case> {
  /** In the order in which they came to be seen. */
  shown: Case[];
  /** New, and waiting to be shown: each would stand before something that is seen. */
  fresh: Case[];
}

/**
 * `seen` are the cases shown so far, in their order; `open` are all of them in the order in which they should be; `settled`
 * are those that somebody else settled while they were shown: they keep their places.
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
    // Behind all that is seen there is nothing that it could move.
    if (at > last) shown.push(one);
    else fresh.push(one);
  });
  return { shown, fresh };
}

/** Those of the cases shown before that are gone now, and not by this desk. */
export function settledElsewhere<Case extends Ordered>(before: readonly Case[], open: readonly Case[], here: ReadonlySet<string>): Case[] {
  const known = new Set(open.map((one) => one.id));
  return before.filter((one) => !known.has(one.id) && !here.has(one.id));
}
