import { tick } from "svelte";

/** Measures from the code's reading (`readAt`, milliseconds since 1970) to the painted verdict, for tests and the benchmark. */
export async function measurePainted(readAt: number | undefined): Promise<void> {
  if (readAt === undefined) return;
  await tick();
  await new Promise((done) => requestAnimationFrame(done));
  // The frame is painted after its callbacks; a task queued now runs after the paint.
  await new Promise((done) => setTimeout(done, 0));
  performance.measure("decode→verdict painted", { start: readAt - performance.timeOrigin, end: performance.now() });
}
