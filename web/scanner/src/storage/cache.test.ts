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
