/** Handles overlapping requests, such as two quick searches. Only the answer to the last request may be shown, whichever comes last. */
export function latest(): () => () => boolean {
  let last = 0;
  return () => {
    last += 1;
    const mine = last;
    return () => mine === last;
  };
}
