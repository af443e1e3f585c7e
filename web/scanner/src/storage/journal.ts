import type { Row } from "../../../shared/core/engine.ts";
import { readTwin, Twin, type TwinFolder } from "./twin.ts";

/** Schema 1 for ever: rows are opaque, so nothing the engine learns can ask for another one. */
const NAME = "admit-journal";
const VERSION = 1;
const ROWS = "rows";
const CONTROL = "control";
const KEY = "writer";

interface Control {
  /** Raised by each tab that becomes the writer; an append of an older one aborts. */
  writer_generation: number;
  /** The `n` the next row must have. */
  next_seq: number;
}

/** Why an append did not happen, one word for `append_failed`. */
export type AppendFailure = "quota" | "lost_lock" | "out_of_step" | "cleared" | "closed";

export class AppendError extends Error {
  constructor(readonly reason: AppendFailure) {
    super(`nothing was stored: ${reason}`);
  }
}

/** Why the journal could not be opened or read where the browser gives no error of its own. */
export type JournalFailure = "journal_closed" | "journal_held" | "journal_unread" | "journal_failed";

export class JournalError extends Error {
  constructor(readonly reason: JournalFailure) {
    super(reason);
  }
}

/** How many doubtful appends are remembered: storage that stays away is tried again every few seconds. */
const DOUBTS = 64;

/**
 * The journal of this device. Rows are added at its end, and taken away at its beginning by a purge alone. Each append and
 * each purge is one transaction that is on stable storage when it resolves. Only the tab whose generation is the newest
 * can write.
 */
export class Journal {
  #db: IDBDatabase | null;
  #queue: Promise<unknown> = Promise.resolve();
  /** Appends that were told as failed while nobody could see whether they were kept, the newest last. */
  #doubts: Row[][] = [];
  /** The second copy, once it is whole. */
  #twin: Twin | null = null;

  private constructor(
    db: IDBDatabase,
    private readonly generation: number,
    private readonly factory: IDBFactory,
  ) {
    this.#db = this.#watch(db);
  }

  /**
   * Opens the journal as its new writer and reads all of it. Rows that the browser discarded, all or the newest, are written
   * back first from the second copy in `folder`.
   */
  static async open(factory: IDBFactory = indexedDB, folder: TwinFolder | null = null): Promise<{ journal: Journal; rows: Row[] }> {
    const copy = readTwin(folder);
    const db = await openDatabase(factory);
    const tx = db.transaction([ROWS, CONTROL], "readwrite", { durability: "strict" });
    const committed = completion(tx);
    // Each request hears of its own failure; what counts is whether the transaction is kept.
    committed.catch(() => {});
    const found = (await result(tx.objectStore(CONTROL).get(KEY))) as Control | undefined;
    let control = { writer_generation: (found?.writer_generation ?? 0) + 1, next_seq: found?.next_seq ?? 1 };
    tx.objectStore(CONTROL).put(control, KEY);
    let rows = (await result(tx.objectStore(ROWS).getAll())) as Row[];
    await committed;
    const kept = await copy;
    const lost = lostRows(rows, control, kept.rows);
    const last = lost.at(-1);
    if (last !== undefined) {
      control = { writer_generation: Math.max(kept.generation + 1, control.writer_generation), next_seq: last.n + 1 };
      await restore(db, lost, control);
      rows = [...rows, ...lost];
    }
    const journal = new Journal(db, control.writer_generation, factory);
    // The copy is on its way while the rows are read; the first append waits for it.
    journal.#queue = Twin.begin(folder, control.writer_generation, rows).then((twin) => (journal.#twin = twin));
    return { journal, rows };
  }

  /** Writes rows after all earlier appends. Rejects with [`AppendError`], and then nothing of it is stored. */
  append(rows: Row[]): Promise<void> {
    const turn = this.#queue.then(() => this.#appendOnce(rows));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /**
   * Writes a row in the place of the one with its `n` and removes all rows before it, after all earlier appends. Rejects
   * if that could not be done, and then every row is as it was: it is not tried again, for a later start does that.
   */
  purge(row: Row): Promise<void> {
    const turn = this.#queue.then(() => this.#purgeOnce(row));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  close(): void {
    this.#twin?.close();
    this.#db?.close();
    this.#db = null;
  }

  async #appendOnce(rows: Row[]): Promise<void> {
    await this.#store(rows);
    this.#twin?.append(rows);
  }

  async #store(rows: Row[]): Promise<void> {
    try {
      await this.#write(rows, false);
    } catch (error) {
      if (error instanceof AppendError) throw error;
      if (isQuota(error)) throw new AppendError("quota");
      // iOS drops connections of a page that slept. One fresh connection; a second failure is a failure.
      try {
        this.#db?.close();
        this.#db = this.#watch(await openDatabase(this.factory));
        await this.#write(rows, true);
      } catch (again) {
        if (again instanceof AppendError) throw again;
        if (isQuota(again)) throw new AppendError("quota");
        this.#doubts = [...this.#doubts.slice(1 - DOUBTS), rows];
        throw new AppendError("closed");
      }
    }
  }

  async #purgeOnce(row: Row): Promise<void> {
    const { tx, committed, refuse } = await this.#begin();
    const store = tx.objectStore(ROWS);
    if ((await result(store.count(row.n))) === 0) return refuse("out_of_step");
    try {
      store.put({ n: row.n, text: row.text });
      store.delete(IDBKeyRange.upperBound(row.n, true));
    } catch (error) {
      tx.abort(); // One without the other would be a journal that contradicts itself.
      throw error;
    }
    await committed;
    this.#twin?.purge(row);
  }

  /** A transaction of the journal's writer, if this still is the writer of the journal that was opened. */
  async #begin() {
    if (this.#db === null) throw new DOMException("the connection is closed", "InvalidStateError");
    const tx = this.#db.transaction([ROWS, CONTROL], "readwrite", { durability: "strict" });
    const committed = completion(tx);
    committed.catch(() => {});
    const refuse = (reason: AppendFailure): never => {
      tx.abort();
      throw new AppendError(reason);
    };
    const control = (await result(tx.objectStore(CONTROL).get(KEY))) as Control | undefined;
    // No control row: the browser cleared this site's data under us, so this is no longer the journal we opened.
    if (control === undefined) return refuse("cleared");
    if (control.writer_generation !== this.generation) return refuse("lost_lock");
    return { tx, committed, control, refuse };
  }

  async #write(rows: Row[], again: boolean): Promise<void> {
    const first = rows[0];
    if (first === undefined) return;
    const { tx, committed, control, refuse } = await this.#begin();
    const next = first.n + rows.length;
    if (again && control.next_seq === next && (await this.#holds(tx, rows))) {
      await committed;
      return;
    }
    const kept = await this.#keptAfterAll(tx, control);
    const begin = kept[0]?.n ?? control.next_seq;
    if (begin !== first.n || rows.some((row, i) => row.n !== first.n + i)) return refuse("out_of_step");
    const store = tx.objectStore(ROWS);
    // Staff were told that nothing was recorded, and acted on it: so it is.
    for (const row of kept) store.delete(row.n);
    for (const row of rows) store.add({ n: row.n, text: row.text });
    tx.objectStore(CONTROL).put({ writer_generation: this.generation, next_seq: next } satisfies Control, KEY);
    await committed;
    this.#doubts = [];
  }

  /** Rows at the journal's end whose append was told as failed. */
  async #keptAfterAll(tx: IDBTransaction, control: Control): Promise<Row[]> {
    for (const rows of this.#doubts) {
      const first = rows[0];
      if (first !== undefined && first.n + rows.length === control.next_seq && (await this.#holds(tx, rows))) return rows;
    }
    return [];
  }

  /** The first try may have committed although its connection died before saying so. */
  async #holds(tx: IDBTransaction, rows: Row[]): Promise<boolean> {
    for (const row of rows) {
      const stored = (await result(tx.objectStore(ROWS).get(row.n))) as Row | undefined;
      if (stored?.text !== row.text) return false;
    }
    return true;
  }

  #watch(db: IDBDatabase): IDBDatabase {
    db.onclose = () => {
      if (this.#db === db) this.#db = null;
    };
    return db;
  }
}

/**
 * Rows of the copy that the journal had and has no more. The copy gets a row only after the journal stored it, so whatever goes
 * beyond the journal's last row was lost from there; where the two tell different stories the journal holds.
 */
function lostRows(rows: readonly Row[], control: Control, kept: readonly Row[]): readonly Row[] {
  const last = rows.at(-1);
  if (last === undefined) return control.next_seq === 1 ? kept : [];
  const at = kept.findIndex((row) => row.n === last.n);
  return at >= 0 && kept[at]?.text === last.text ? kept.slice(at + 1) : [];
}

/** Writes lost rows back, all or none. */
async function restore(db: IDBDatabase, rows: readonly Row[], control: Control): Promise<void> {
  const tx = db.transaction([ROWS, CONTROL], "readwrite", { durability: "strict" });
  const committed = completion(tx);
  for (const row of rows) tx.objectStore(ROWS).put({ n: row.n, text: row.text });
  tx.objectStore(CONTROL).put(control, KEY);
  await committed;
}

function openDatabase(factory: IDBFactory): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(ROWS, { keyPath: "n" });
      request.result.createObjectStore(CONTROL);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new JournalError("journal_closed"));
    request.onblocked = () => reject(new JournalError("journal_held"));
  });
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new JournalError("journal_unread"));
  });
}

function completion(tx: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error ?? new DOMException("the transaction was aborted", "AbortError"));
    tx.onerror = () => reject(tx.error ?? new JournalError("journal_failed"));
  });
}

function isQuota(error: unknown): boolean {
  return error instanceof DOMException && error.name === "QuotaExceededError";
}
