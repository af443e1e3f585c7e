/** How many of a party go in. */

export const label = "How many go in now";
export const another = (most: number) => `Another number, at most ${most}`;
export const placeholder = "Other number";
export const all = (persons: number) => `All ${persons}`;
