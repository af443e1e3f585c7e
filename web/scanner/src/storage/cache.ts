/**
 * Stores bodies for the engine's next start: lists and others that can be fetched again. They are in a database of their own. Its
 * schema may change, and losing it costs a download but never a scan.
 *
 * Bodies with guests' names are sealed: encrypted by AES-GCM, each with a key that the browser stores and gives to nobody, not even
 * to this page. Deleting a body deletes its key, so remains on the disk cannot be read.
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

/** Stores and reads the bodies. Calls take effect in their order. */
export class Cache {
  #queue: Promise<unknown> = Promise.resolve();
  #db: Promise<IDBDatabase> | null = null;

  constructor(
    private readonly factory: IDBFactory = indexedDB,
    private readonly crypto: Crypto = globalThis.crypto,
  ) {}

  /** Reads all bodies. A sealed body that cannot be decrypted is left out. */
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

  /** Stores a body encrypted under a new key, which nobody can read out. */
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

  /** Deletes all bodies and keys at once, because the device must not keep guest data. */
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
    // The encryption covers the body's name too, so one body cannot replace another.
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
        // The connection may have been lost while the phone slept. Try once more on a new one.
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
      // A list in use must survive a power cut, because a device never goes back to an older list.
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
