/** A list that the server gives whole: read, read again after a change, and known to be empty only once it was read. */
import { api } from "../../../shared/api/client";
import type { Listed } from "../../../shared/api/types";
import { latest } from "./latest";
import { readAgain } from "./session.svelte";

export class Whole<Item> {
  items = $state.raw<Item[]>([]);
  known = $state(false);
  failure = $state("");
  #begin = latest();

  constructor(readonly path: string) {}

  async load(): Promise<void> {
    const current = this.#begin();
    try {
      const page = await api.get<Listed<Item>>(this.path);
      if (!current()) return;
      this.items = page.items;
      this.known = true;
      this.failure = "";
    } catch (error) {
      if (!current()) return;
      this.failure = (error as Error).message;
      readAgain(error, () => this.load());
    }
  }
}
