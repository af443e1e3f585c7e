/** Lists that come in pages. */
import { api } from "../../../shared/api/client";
import type { Listed } from "../../../shared/api/types";

/** The most items of one request. */
const PAGE = 500;

/** Reads all items of a list, but at most `atMost`. `more`: whether there are more. `path` may have a query. */
export async function allOf<T>(path: string, atMost: number): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE, atMost - items.length)), ...(cursor ? { cursor } : {}) });
    const page: Listed<T> = await api.get(`${path}${path.includes("?") ? "&" : "?"}${query}`);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < atMost);
  return { items, more: cursor !== null };
}
