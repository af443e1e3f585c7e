import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test } from "vitest";
import { Cache } from "./cache.ts";

let factory: globalThis.IDBFactory;
beforeEach(() => {
  factory = new IDBFactory() as unknown as globalThis.IDBFactory;
});

test("bodies come back as the bytes they were", async () => {
  const cache = new Cache(factory);
  const body = Uint8Array.from({ length: 5000 }, (_, i) => i % 256);
  await cache.save("manifest.7", body);
  expect(await new Cache(factory).all()).toEqual([{ key: "manifest.7", body }]);
});

test("what is called later takes effect later, without waiting in between", async () => {
  const cache = new Cache(factory);
  void cache.save("a", new Uint8Array([1]));
  void cache.forget("a");
  void cache.save("b", new Uint8Array([2]));
  void cache.save("b", new Uint8Array([3]));
  expect(await cache.all()).toEqual([{ key: "b", body: new Uint8Array([3]) }]);
});

test("a wipe leaves nothing", async () => {
  const cache = new Cache(factory);
  void cache.save("names", new Uint8Array([1]));
  await cache.wipe();
  expect(await new Cache(factory).all()).toEqual([]);
});

test("what holds names is sealed on the disk, comes back, and cannot be read out", async () => {
  const cache = new Cache(factory);
  const body = new TextEncoder().encode('{"name":"Amélie Brânză"}');
  await cache.seal("names:event", body);
  const onDisk = await raw();
  const stored = onDisk.bodies[0] as Uint8Array;
  expect(new TextDecoder().decode(stored)).not.toContain("lie Br");
  expect(stored.length).toBe(body.length + 16);
  const { key } = onDisk.keys[0] as { key: CryptoKey };
  expect(key.extractable).toBe(false);
  await expect(crypto.subtle.exportKey("raw", key)).rejects.toThrow();
  expect(await new Cache(factory).all()).toEqual([{ key: "names:event", body }]);
});

test("forgetting and wiping take the keys with them", async () => {
  const cache = new Cache(factory);
  await cache.seal("names:a", new Uint8Array([1]));
  await cache.seal("names:b", new Uint8Array([2]));
  await cache.forget("names:a");
  expect((await raw()).keys).toHaveLength(1);
  await cache.wipe();
  expect(await raw()).toEqual({ bodies: [], keys: [] });
});

test("a sealed body whose key or name is another is left out, the others come back", async () => {
  const cache = new Cache(factory);
  await cache.seal("names:a", new Uint8Array([1]));
  await cache.save("manifest", new Uint8Array([7]));
  const db = await open();
  const tx = db.transaction(["bodies", "keys"], "readwrite");
  const bodies = tx.objectStore("bodies");
  const keys = tx.objectStore("keys");
  bodies.get("names:a").onsuccess = (event) => bodies.put((event.target as IDBRequest).result, "names:b");
  keys.get("names:a").onsuccess = (event) => keys.put((event.target as IDBRequest).result, "names:b");
  await new Promise((done) => (tx.oncomplete = done));
  db.close();
  expect((await new Cache(factory).all()).map(({ key }) => key)).toEqual(["manifest", "names:a"]);
});

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open("admit-cache");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("no database"));
  });
}

async function raw(): Promise<{ bodies: unknown[]; keys: unknown[] }> {
  const db = await open();
  const tx = db.transaction(["bodies", "keys"], "readonly");
  const bodies = tx.objectStore("bodies").getAll();
  const keys = tx.objectStore("keys").getAll();
  await new Promise((done) => (tx.oncomplete = done));
  db.close();
  return { bodies: bodies.result, keys: keys.result };
}
