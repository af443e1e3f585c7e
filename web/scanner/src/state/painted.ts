import { tick } from "svelte";

/** Measures the time from reading a code (`readAt`, milliseconds since 1970) to the painted verdict, for tests and the benchmark. */
export async function measurePainted(readAt: number | undefined): Promise<void> {
  if (readAt === undefined) return;
  await tick();
  await new Promise((done) => requestAnimationFrame(done));
  // The browser paints a frame after its callbacks, so a task that is queued here runs after the paint.
  await new Promise((done) => setTimeout(done, 0));
  performance.measure("decode→verdict painted", { start: readAt - performance.timeOrigin, end: performance.now() });
}
