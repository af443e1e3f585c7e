/** A list that the server gives in one answer. It is read again after a change. Only after a reading does an empty list mean that there are no items. */
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
