export interface Patience {
  /** How long at most, in milliseconds. */
  within?: number;
  /** How often to look. */
  every?: number;
}

/**
 * Looks until `probe` answers something true, and gives that back: a count of 0 is no answer yet. A probe that
 * throws has not answered yet either; its last error is told when time is up.
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

/** The pause between two looks, and nothing else: a test never waits for time to pass. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
