/** The ticked rows of a list: by id, or all rows that the list's search finds, even those that are not shown yet. */

interface Row {
  id: string;
}

export class Picks {
  ids = $state.raw<ReadonlySet<string>>(new Set());
  /** Whether all rows that the search finds are ticked. */
  all = $state(false);
  readonly any = $derived(this.all || this.ids.size > 0);

  has(id: string): boolean {
    return this.all || this.ids.has(id);
  }
  /** Ticks or unticks a row. If all rows were ticked, the other shown rows stay ticked. */
  toggle(id: string, yes: boolean, shown: readonly Row[]): void {
    const next = new Set(this.all ? shown.map((row) => row.id) : this.ids);
    if (yes) next.add(id);
    else next.delete(id);
    this.ids = next;
    this.all = false;
  }
  /** Whether every row that is shown is ticked. */
  hasShown(shown: readonly Row[]): boolean {
    return shown.length > 0 && shown.every((row) => this.has(row.id));
  }
  toggleShown(yes: boolean, shown: readonly Row[]): void {
    this.ids = new Set(yes ? shown.map((row) => row.id) : []);
    this.all = false;
  }
  takeAll(): void {
    this.all = true;
  }
  clear(): void {
    this.ids = new Set();
    this.all = false;
  }
}
