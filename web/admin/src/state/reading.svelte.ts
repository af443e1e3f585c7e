import { readAgain } from "./session.svelte.ts";

/** One answer of the server that a page reads again and again. The last good one stays while a later reading fails. */
export class Reading<T> {
  value = $state.raw<T | null>(null);
  /** Why the last reading failed; empty where it did not. */
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
