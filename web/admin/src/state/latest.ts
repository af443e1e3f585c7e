/** Readings that overlap, as two searches typed quickly: only the one begun last may be shown, whichever answers last. */
export function latest(): () => () => boolean {
  let last = 0;
  return () => {
    last += 1;
    const mine = last;
    return () => mine === last;
  };
}
