/** A figure as `crates/bench` takes it: it makes ratio and verdict of it. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** The raw limit in the same page, in the same unit. */
  limit: number | null;
  /** The target. */
  at_most: number | null;
  /** The size of the input, and what the limit is made of. */
  input: string;
}

/** The smallest value that `share` (0 to 1) of all are not above. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error("nothing was measured");
  return value;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** `20,000`. */
export function count(value: number): string {
  return value.toLocaleString("en");
}

/** How the name of a figure says that the processor was slowed. */
export function slowed(rate: number): string {
  return rate === 1 ? "no throttle" : `${rate}× throttle`;
}

/** What a throttled figure does not say of itself. */
export function caveat(rate: number): string {
  return rate === 1 ? "" : " (Chromium slows the page's thread, not its workers)";
}
