import { IDBDatabase as FakeDatabase, IDBFactory, IDBKeyRange, IDBObjectStore as FakeStore } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AppendError, Journal } from "./journal.ts";

let factory: IDBFactory;
beforeEach(() => {
  factory = new IDBFactory();
  vi.stubGlobal("IDBKeyRange", IDBKeyRange);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const row = (n: number) => ({ n, text: `row ${n}` });
const failure = (promise: Promise<void>) =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof AppendError ? error.reason : error),
  );
const open = () => Journal.open(factory as unknown as globalThis.IDBFactory);

test("what was appended is read back in order by the next start", async () => {
  const { journal, rows } = await open();
  expect(rows).toEqual([]);
  await journal.append([row(1), row(2)]);
  await journal.append([row(3)]);
  journal.close();
  expect((await open()).rows).toEqual([row(1), row(2), row(3)]);
});

test("every append is one transaction that asks for strict durability", async () => {
  const { journal } = await open();
  const transaction = vi.spyOn(FakeDatabase.prototype, "transaction");
  await journal.append([row(1), row(2), row(3)]);
  expect(transaction).toHaveBeenCalledTimes(1);
  expect(transaction.mock.calls[0]?.[2]).toEqual({ durability: "strict" });
});

test("after another tab took over, the old tab's append aborts and leaves nothing", async () => {
  const old = await open();
  await old.journal.append([row(1)]);
  const next = await open();
  expect(await failure(old.journal.append([row(2)]))).toBe("lost_lock");
  await next.journal.append([{ n: 2, text: "of the new tab" }]);
  expect((await open()).rows).toEqual([row(1), { n: 2, text: "of the new tab" }]);
});

test("a row that does not continue the journal is refused whole", async () => {
  const { journal } = await open();
  await journal.append([row(1)]);
  expect(await failure(journal.append([row(3)]))).toBe("out_of_step");
  expect(await failure(journal.append([row(2), row(4)]))).toBe("out_of_step");
  expect((await open()).rows).toEqual([row(1)]);
});

test("appends started together are stored one after the other", async () => {
  const { journal } = await open();
  await Promise.all([journal.append([row(1)]), journal.append([row(2)]), journal.append([row(3)])]);
  expect((await open()).rows).toHaveLength(3);
});

test("after a failed append the ones behind it fail too: no hole", async () => {
  const { journal } = await open();
  const add = vi.spyOn(FakeStore.prototype, "add").mockImplementationOnce(() => {
    throw new DOMException("disk full", "QuotaExceededError");
  });
  const results = await Promise.all([failure(journal.append([row(1)])), failure(journal.append([row(2)]))]);
  expect(results).toEqual(["quota", "out_of_step"]);
  add.mockRestore();
  expect((await open()).rows).toEqual([]);
});

test("a dropped connection is opened once more and the append goes through", async () => {
  const { journal } = await open();
  await journal.append([row(1)]);
  // After a page slept on iOS, every transaction on the old connection throws.
  const dead = new DOMException("Connection to Indexed Database server lost", "UnknownError");
  vi.spyOn(FakeDatabase.prototype, "transaction").mockImplementationOnce(() => {
    throw dead;
  });
  await journal.append([row(2)]);
  expect((await open()).rows).toEqual([row(1), row(2)]);
});

test("a storage that stays away is told as closed", async () => {
  const { journal } = await open();
  journal.close();
  vi.spyOn(factory, "open").mockImplementation(() => {
    throw new DOMException("gone", "UnknownError");
  });
  expect(await failure(journal.append([row(1)]))).toBe("closed");
});

test("a commit whose answer was lost with the connection is not written twice", async () => {
  const { journal } = await open();
  loseTheAnswer();
  await journal.append([row(1)]);
  await journal.append([row(2)]);
  expect((await open()).rows).toEqual([row(1), row(2)]);
});

/** The transaction commits, but the page gets a failure, as if its connection had died before the answer. */
function loseTheAnswer(): void {
  const add = vi.spyOn(FakeStore.prototype, "add").mockImplementationOnce(function (this: InstanceType<typeof FakeStore>, value) {
    const transaction = this.transaction as unknown as IDBTransaction;
    queueMicrotask(() => {
      const abort = transaction.onabort;
      transaction.oncomplete = () => abort?.call(transaction, new Event("abort"));
    });
    add.mockRestore();
    return this.add(value);
  });
}

test("what was told as not recorded and was kept after all is taken back by the next append", async () => {
  const { journal } = await open();
  await journal.append([row(1)]);
  loseTheAnswer();
  const away = vi.spyOn(factory, "open").mockImplementationOnce(() => {
    throw new DOMException("storage is away", "UnknownError");
  });
  expect(await failure(journal.append([row(2), row(3)]))).toBe("closed");
  away.mockRestore();
  expect(await failure(journal.append([row(4)]))).toBe("out_of_step");
  await journal.append([{ n: 2, text: "another" }]);
  await journal.append([row(3)]);
  expect((await open()).rows).toEqual([row(1), { n: 2, text: "another" }, row(3)]);
});

test("a purge takes the rows up to its own, which the next start reads first; the numbers go on", async () => {
  const { journal } = await open();
  await journal.append([row(1), row(2), row(3), row(4)]);
  const transaction = vi.spyOn(FakeDatabase.prototype, "transaction");
  await journal.purge({ n: 3, text: "what 1 to 3 added up to" });
  expect(transaction.mock.calls.map((call) => call[2])).toEqual([{ durability: "strict" }]);
  await journal.append([row(5)]);
  journal.close();
  const next = await open();
  expect(next.rows).toEqual([{ n: 3, text: "what 1 to 3 added up to" }, row(4), row(5)]);
  await next.journal.append([row(6)]);
  await next.journal.purge({ n: 6, text: "all" });
  await next.journal.append([row(7)]);
  expect((await open()).rows).toEqual([{ n: 6, text: "all" }, row(7)]);
});

test("a purge waits for the appends before it, and an append for the purge", async () => {
  const { journal } = await open();
  await Promise.all([journal.append([row(1), row(2)]), journal.purge({ n: 2, text: "sum" }), journal.append([row(3)])]);
  expect((await open()).rows).toEqual([{ n: 2, text: "sum" }, row(3)]);
});

test("a purge that fails, in any of its parts, leaves every row", async () => {
  const { journal } = await open();
  await journal.append([row(1), row(2)]);
  for (const part of ["put", "delete"] as const) {
    const fails = vi.spyOn(FakeStore.prototype, part).mockImplementationOnce(() => {
      throw new DOMException("disk full", "QuotaExceededError");
    });
    await expect(journal.purge({ n: 2, text: "sum" })).rejects.toThrow("disk full");
    fails.mockRestore();
  }
  expect(await failure(journal.purge({ n: 3, text: "no such row" }))).toBe("out_of_step");
  await journal.append([row(3)]);
  expect((await open()).rows).toEqual([row(1), row(2), row(3)]);
});

test("after another tab took over, the old tab purges nothing", async () => {
  const old = await open();
  await old.journal.append([row(1), row(2)]);
  await open();
  expect(await failure(old.journal.purge({ n: 2, text: "sum" }))).toBe("lost_lock");
  expect((await open()).rows).toEqual([row(1), row(2)]);
});

test("site data cleared under us: no append pretends to continue", async () => {
  const { journal } = await open();
  await journal.append([row(1)]);
  const db = await rawConnection();
  const tx = db.transaction(["rows", "control"], "readwrite");
  tx.objectStore("rows").clear();
  tx.objectStore("control").clear();
  await new Promise((done) => (tx.oncomplete = done));
  expect(await failure(journal.append([row(2)]))).toBe("cleared");
});

function rawConnection(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open("admit-journal", 1) as unknown as IDBOpenDBRequest;
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
