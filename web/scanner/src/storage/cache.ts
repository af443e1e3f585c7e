/**
 * Bodies the engine wants back at the next start: lists and what else can be fetched again. A database of its own, so
 * that its schema may change and its loss costs a download, never a scan.
 *
 * What holds guests' names is sealed: AES-GCM under a key of its own that the browser keeps and never gives out, not
 * even to this page. Forgetting a body forgets its key with it, so what may be left of it on the disk says nothing.
 */
const NAME = "admit-cache";
const VERSION = 2;
const BODIES = "bodies";
const KEYS = "keys";
const IV_BYTES = 12;

export interface CachedBody {
  key: string;
  body: Uint8Array;
}

interface Seal {
  key: CryptoKey;
  iv: Uint8Array<ArrayBuffer>;
}

/** Every method takes effect after the ones called before it. */
export class Cache {
  #queue: Promise<unknown> = Promise.resolve();
  #db: Promise<IDBDatabase> | null = null;

  constructor(
    private readonly factory: IDBFactory = indexedDB,
    private readonly crypto: Crypto = globalThis.crypto,
  ) {}

  /** All bodies; none when the database cannot be read. A sealed one that does not open is left out. */
  async all(): Promise<CachedBody[]> {
    const read = await this.#inTurn("readonly", (bodies, keys) => {
      const names = bodies.getAllKeys();
      const held = bodies.getAll();
      const sealed = keys.getAllKeys();
      const seals = keys.getAll();
      return () => ({
        bodies: names.result.map((key, i) => ({ key: String(key), body: held.result[i] as Uint8Array<ArrayBuffer> })),
        seals: new Map(sealed.result.map((key, i) => [String(key), seals.result[i] as Seal])),
      });
    });
    const opened: CachedBody[] = [];
    for (const { key, body } of read.bodies) {
      const seal = read.seals.get(key);
      if (seal === undefined) opened.push({ key, body });
      else {
        const plain = await this.#open(seal, key, body).catch(() => null);
        if (plain !== null) opened.push({ key, body: plain });
      }
    }
    return opened;
  }

  save(key: string, body: Uint8Array): Promise<void> {
    return this.#inTurn("readwrite", (bodies, keys) => {
      bodies.put(body, key);
      keys.delete(key);
      return () => {};
    });
  }

  /** Keeps a body under a fresh key that cannot be read out. */
  seal(key: string, body: Uint8Array): Promise<void> {
    return this.#inTurn(
      "readwrite",
      (bodies, keys, sealed) => {
        bodies.put(sealed.body, key);
        keys.put(sealed.seal, key);
        return () => {};
      },
      () => this.#close(key, body),
    );
  }

  forget(key: string): Promise<void> {
    return this.#inTurn("readwrite", (bodies, keys) => {
      bodies.delete(key);
      keys.delete(key);
      return () => {};
    });
  }

  /** Guest data must go: everything, at once. */
  wipe(): Promise<void> {
    return this.#inTurn("readwrite", (bodies, keys) => {
      bodies.clear();
      keys.clear();
      return () => {};
    });
  }

  async #close(name: string, body: Uint8Array): Promise<{ seal: Seal; body: Uint8Array }> {
    const key = await this.crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
    const iv = this.crypto.getRandomValues(new Uint8Array(IV_BYTES));
    // The name is part of what is sealed: a body cannot be passed off as another.
    const additionalData = new TextEncoder().encode(name);
    const sealed = await this.crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, new Uint8Array(body));
    return { seal: { key, iv }, body: new Uint8Array(sealed) };
  }

  async #open({ key, iv }: Seal, name: string, body: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const additionalData = new TextEncoder().encode(name);
    return new Uint8Array(await this.crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, body));
  }

  #inTurn<T, P = undefined>(
    mode: IDBTransactionMode,
    work: (bodies: IDBObjectStore, keys: IDBObjectStore, prepared: P) => () => T,
    prepare?: () => Promise<P>,
  ): Promise<T> {
    const turn = this.#queue.then(async () => {
      const prepared = (await prepare?.()) as P;
      const run = () => this.#run(mode, (bodies, keys) => work(bodies, keys, prepared));
      try {
        return await run();
      } catch {
        // A connection lost while the phone slept: once more on a fresh one.
        this.#db = null;
        return await run();
      }
    });
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #run<T>(
    mode: IDBTransactionMode,
    work: (bodies: IDBObjectStore, keys: IDBObjectStore) => () => T,
  ): Promise<T> {
    this.#db ??= this.#connect();
    const db = await this.#db;
    return await new Promise<T>((resolve, reject) => {
      // A list that was in use must be there after a power cut: a device refuses to go back to an older one.
      const tx = db.transaction([BODIES, KEYS], mode, { durability: "strict" });
      const finish = work(tx.objectStore(BODIES), tx.objectStore(KEYS));
      tx.oncomplete = () => resolve(finish());
      tx.onabort = () => reject(tx.error ?? new Error("the cache refused"));
      tx.onerror = () => reject(tx.error ?? new Error("the cache failed"));
    });
  }

  #connect(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.factory.open(NAME, VERSION);
      request.onupgradeneeded = () => {
        const db = request.result;
        for (const store of [BODIES, KEYS]) {
          if (!db.objectStoreNames.contains(store)) db.createObjectStore(store);
        }
      };
      request.onsuccess = () => {
        request.result.onclose = () => (this.#db = null);
        request.result.onversionchange = () => {
          request.result.close();
          this.#db = null;
        };
        resolve(request.result);
      };
      request.onerror = () => reject(request.error ?? new Error("the cache cannot be opened"));
    });
  }
}
