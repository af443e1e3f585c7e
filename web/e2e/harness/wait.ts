export interface Patience {
  /** The time limit, in milliseconds. */
  within?: number;
  /** The pause between two calls of `probe`, in milliseconds. */
  every?: number;
}

/**
 * Calls `probe` until it gives a true value, and gives that value. So a count of 0 means: not yet. A probe that throws is called
 * again too. After the time limit, this fails with the last answer or error.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false | 0 | ""> | T | undefined | null | false | 0 | "",
  { within = 20_000, every = 50 }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + within;
  let last: unknown = "it never answered";
  for (;;) {
    try {
      const answer = await probe();
      if (answer) return answer;
      last = `the last answer was ${String(answer)}`;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${within} ms for ${what}, and ${last instanceof Error ? last.message : String(last)}`);
    }
    await pause(every);
  }
}

/** The pause between two calls of `probe`. Tests have no other pauses. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
