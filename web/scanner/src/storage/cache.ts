/**
 * Bodies the engine wants back at the next start: lists and what else can be fetched again. A database of its own, so
 * that its schema may change and its loss costs a download, never a scan.
 */
const NAME = "admit-cache";
const VERSION = 1;
const BODIES = "bodies";

export interface CachedBody {
  key: string;
  body: Uint8Array;
}

/** Every method takes effect after the ones called before it. */
export class Cache {
  #queue: Promise<unknown> = Promise.resolve();
  #db: Promise<IDBDatabase> | null = null;

  constructor(private readonly factory: IDBFactory = indexedDB) {}

  /** All bodies; none when the database cannot be read. */
  all(): Promise<CachedBody[]> {
    return this.#inTurn("readonly", (store) => {
      const keys = store.getAllKeys();
      const bodies = store.getAll();
      return () => keys.result.map((key, i) => ({ key: String(key), body: bodies.result[i] as Uint8Array }));
    });
  }

  save(key: string, body: Uint8Array): Promise<void> {
    return this.#inTurn("readwrite", (store) => {
      store.put(body, key);
      return () => {};
    });
  }

  forget(key: string): Promise<void> {
    return this.#inTurn("readwrite", (store) => {
      store.delete(key);
      return () => {};
    });
  }

  /** Guest data must go: everything, at once. */
  wipe(): Promise<void> {
    return this.#inTurn("readwrite", (store) => {
      store.clear();
      return () => {};
    });
  }

  #inTurn<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => () => T): Promise<T> {
    const turn = this.#queue.then(async () => {
      try {
        return await this.#run(mode, work);
      } catch {
        // A connection lost while the phone slept: once more on a fresh one.
        this.#db = null;
        return await this.#run(mode, work);
      }
    });
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => () => T): Promise<T> {
    this.#db ??= this.#open();
    const db = await this.#db;
    return await new Promise<T>((resolve, reject) => {
      // A list that was in use must be there after a power cut: a device refuses to go back to an older one.
      const tx = db.transaction(BODIES, mode, { durability: "strict" });
      const finish = work(tx.objectStore(BODIES));
      tx.oncomplete = () => resolve(finish());
      tx.onabort = () => reject(tx.error ?? new Error("the cache refused"));
      tx.onerror = () => reject(tx.error ?? new Error("the cache failed"));
    });
  }

  #open(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.factory.open(NAME, VERSION);
      request.onupgradeneeded = () => request.result.createObjectStore(BODIES);
      request.onsuccess = () => {
        request.result.onclose = () => (this.#db = null);
        resolve(request.result);
      };
      request.onerror = () => reject(request.error ?? new Error("the cache cannot be opened"));
    });
  }
}
