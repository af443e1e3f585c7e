import type { Row } from "../../../shared/core/engine.ts";
import { readTwin, Twin, type TwinFolder } from "./twin.ts";

/** The schema has version 1 for ever. Only the engine reads a row's text, so new kinds of rows need no new schema. */
const NAME = "admit-journal";
const VERSION = 1;
const ROWS = "rows";
const CONTROL = "control";
const KEY = "writer";

interface Control {
  /** Each tab that becomes the writer raises it. An append of an earlier writer then aborts. */
  writer_generation: number;
  /** The `n` that the next row must have. */
  next_seq: number;
}

/** Why an append stored nothing, as the input `append_failed` says it. */
export type AppendFailure = "quota" | "lost_lock" | "out_of_step" | "cleared" | "closed";

export class AppendError extends Error {
  constructor(readonly reason: AppendFailure) {
    super(`nothing was stored: ${reason}`);
  }
}

/** Why the journal could not be opened or read, if the browser gives no error of its own. */
export type JournalFailure = "journal_closed" | "journal_held" | "journal_unread" | "journal_failed";

export class JournalError extends Error {
  constructor(readonly reason: JournalFailure) {
    super(reason);
  }
}

/** The number of doubtful appends that are remembered. Storage that stays away causes one every few seconds. */
const DOUBTS = 64;

/**
 * The journal of this device. An append adds rows at its end; only a purge removes rows, at its beginning. Each append and each
 * purge is one transaction, which is on stable storage when its promise resolves. Only the tab with the newest writer generation
 * can write.
 */
export class Journal {
  #db: IDBDatabase | null;
  #queue: Promise<unknown> = Promise.resolve();
  /** Appends that were reported as failed although they may have been stored, the newest last. */
  #doubts: Row[][] = [];
  /** The second copy of the journal, once it is complete. */
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
    // Failures of requests are handled below. This keeps the browser from reporting the rejected promise too.
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
    // The new copy is written while the engine reads the rows. The first append waits for it.
    journal.#queue = Twin.begin(folder, control.writer_generation, rows).then((twin) => (journal.#twin = twin));
    return { journal, rows };
  }

  /** Writes rows after all earlier appends. If it rejects with [`AppendError`], none of the rows is stored. */
  append(rows: Row[]): Promise<void> {
    const turn = this.#queue.then(() => this.#appendOnce(rows));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /**
   * Replaces the row with this `n` and removes all rows before it, after all earlier appends. If it rejects, every row is as it
   * was. It is not repeated, because a later start purges again.
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
      // iOS drops connections of a page that slept. So one new connection is tried, and its failure is final.
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
      tx.abort(); // Either change alone would leave a contradictory journal.
      throw error;
    }
    await committed;
    this.#twin?.purge(row);
  }

  /** Begins a transaction. Fails if this tab is no longer the writer, or if the journal is not the one that was opened. */
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
    // Without a control row, the browser has cleared this site's data. This is then not the journal that was opened.
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
    // Staff were told that these rows were not recorded, and acted on that. So the rows are deleted.
    for (const row of kept) store.delete(row.n);
    for (const row of rows) store.add({ n: row.n, text: row.text });
    tx.objectStore(CONTROL).put({ writer_generation: this.generation, next_seq: next } satisfies Control, KEY);
    await committed;
    this.#doubts = [];
  }

  /** Rows at the journal's end whose append was reported as failed although they were stored. */
  async #keptAfterAll(tx: IDBTransaction, control: Control): Promise<Row[]> {
    for (const rows of this.#doubts) {
      const first = rows[0];
      if (first !== undefined && first.n + rows.length === control.next_seq && (await this.#holds(tx, rows))) return rows;
    }
    return [];
  }

  /** Whether the journal has these rows. An append may have committed although its connection died before the answer. */
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
 * The rows that the journal had and lost, from the copy. The copy gets a row only after the journal stored it. So rows of the copy
 * after the journal's last row were lost from the journal. If copy and journal contradict each other, the journal is right.
 */
function lostRows(rows: readonly Row[], control: Control, kept: readonly Row[]): readonly Row[] {
  const last = rows.at(-1);
  if (last === undefined) return control.next_seq === 1 ? kept : [];
  const at = kept.findIndex((row) => row.n === last.n);
  return at >= 0 && kept[at]?.text === last.text ? kept.slice(at + 1) : [];
}

/** Writes all lost rows back in one transaction. */
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
