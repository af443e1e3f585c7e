/**
 * A list that the server gives in pages. It shows the answer to the last request, and a further page belongs to the same request.
 * An empty list means that there are no items only after it was read.
 */
import { api } from "../../../shared/api/client";
import type { Listed } from "../../../shared/api/types";
import { latest } from "./latest";
import { readAgain } from "./session.svelte";

/** The number of rows of one page. */
const PAGE = 50;

export class Listing<Item> {
  items = $state.raw<Item[]>([]);
  known = $state(false);
  failure = $state("");
  cursor = $state<string | null>(null);
  #path: string;
  #asked = new URLSearchParams();
  #begin = latest();

  constructor(path: string) {
    this.#path = path;
  }

  /** Reads the first page for this query. Parts of the query without a value are left out. */
  async load(query: Record<string, string>): Promise<void> {
    this.#asked = new URLSearchParams({ limit: String(PAGE) });
    for (const [name, value] of Object.entries(query)) if (value !== "") this.#asked.set(name, value);
    await this.#read(false);
  }

  /** Reads the shown rows again. */
  async again(): Promise<void> {
    const limit = Math.min(500, Math.max(PAGE, this.items.length));
    this.#asked.set("limit", String(limit));
    await this.#read(false);
  }

  async more(): Promise<void> {
    if (this.cursor !== null) await this.#read(true);
  }

  async #read(more: boolean): Promise<void> {
    const current = this.#begin();
    const query = new URLSearchParams(this.#asked);
    if (more && this.cursor !== null) query.set("cursor", this.cursor);
    try {
      const page = await api.get<Listed<Item>>(`${this.#path}?${query}`);
      if (!current()) return;
      this.items = more ? [...this.items, ...page.items] : page.items;
      this.cursor = page.next_cursor;
      this.known = true;
      this.failure = "";
    } catch (error) {
      if (!current()) return;
      this.failure = (error as Error).message;
      readAgain(error, () => this.#read(more));
    }
  }
}
