/** A measured figure. `crates/bench` computes its ratio to the raw limit and compares it with the target. */
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

/** The smallest value that at least a share (0 to 1) of all values does not exceed. */
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

/** The part of a figure's name that says that the processor was slowed down. */
export function slowed(rate: number): string {
  return rate === 1 ? "no throttle" : `${rate}× throttle`;
}

/** A note for figures that were measured with a slowed processor. */
export function caveat(rate: number): string {
  return rate === 1 ? "" : " (Chromium slows the page's thread, not its workers)";
}
