import { readAgain } from "./session.svelte.ts";

/** An answer of the server that a page reads repeatedly. If a reading fails, the last good answer stays. */
export class Reading<T> {
  value = $state.raw<T | null>(null);
  /** Why the last reading failed. Empty if it did not. */
  failure = $state("");

  constructor(private readonly read: () => Promise<T>) {}

  load = async (): Promise<void> => {
    try {
      this.value = await this.read();
      this.failure = "";
    } catch (error) {
      this.failure = (error as Error).message;
      readAgain(error, this.load);
    }
  };
}
