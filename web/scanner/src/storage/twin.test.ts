import { IDBFactory, IDBKeyRange } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Journal } from "./journal.ts";
import { readTwin, type TwinFile, type TwinFolder } from "./twin.ts";

beforeEach(() => vi.stubGlobal("IDBKeyRange", IDBKeyRange));
afterEach(() => vi.unstubAllGlobals());

/** A folder in memory. While `full` is true, it takes no more bytes. */
class Folder implements TwinFolder {
  readonly files = new Map<string, Uint8Array>();
  full = false;
  async names() {
    return [...this.files.keys()];
  }
  async remove(name: string) {
    if (!this.files.delete(name)) throw new Error("there is none");
  }
  async open(name: string): Promise<TwinFile> {
    if (!this.files.has(name)) this.files.set(name, new Uint8Array());
    return {
      read: () => this.files.get(name) ?? new Uint8Array(),
      append: (bytes) => {
        if (this.full) throw new Error("no space");
        this.files.set(name, new Uint8Array([...(this.files.get(name) ?? []), ...bytes]));
      },
      flush: () => {},
      close: () => {},
    };
  }
  /** Removes the last bytes, as if they had never been written. */
  cut(bytes: number) {
    for (const [name, all] of this.files) this.files.set(name, all.slice(0, -bytes));
  }
}

const row = (n: number) => ({ n, text: `row ${n}` });
const database = () => new IDBFactory() as unknown as globalThis.IDBFactory;

test("a journal that the browser discarded is written back, and goes on where it stood", async () => {
  const folder = new Folder();
  const { journal } = await Journal.open(database(), folder);
  await journal.append([row(1), row(2)]);
  await journal.append([row(3)]);
  const discarded = database();
  const again = await Journal.open(discarded, folder);
  expect(again.rows).toEqual([row(1), row(2), row(3)]);
  await again.journal.append([row(4)]);
  expect((await Journal.open(discarded, folder)).rows).toEqual([row(1), row(2), row(3), row(4)]);
  const twice = await Journal.open(database(), folder);
  expect(twice.rows).toEqual([row(1), row(2), row(3), row(4)]);
  await vi.waitFor(() => expect(folder.files.size, "the copies before it are gone").toBe(1));
});

test("the journal's own rows come first, whatever the copy says", async () => {
  const [folder, kept] = [new Folder(), database()];
  const first = await Journal.open(kept, folder);
  await first.journal.append([row(1)]);
  const without = await Journal.open(kept, null);
  await without.journal.append([row(2)]);
  expect((await Journal.open(kept, folder)).rows).toEqual([row(1), row(2)]);
  await vi.waitFor(async () => expect((await readTwin(folder)).rows).toEqual([row(1), row(2)]));
});

test("rows that the journal lost from its end are written back; a copy that tells another story is not believed", async () => {
  const folder = new Folder();
  const { journal } = await Journal.open(database(), folder);
  await journal.append([row(1), row(2), row(3)]);
  const copy = new Map(folder.files);
  const behind = database();
  const early = await Journal.open(behind, null);
  await early.journal.append([row(1)]);
  const again = await Journal.open(behind, folder);
  expect(again.rows).toEqual([row(1), row(2), row(3)]);
  await again.journal.append([row(4)]);
  expect((await Journal.open(behind, null)).rows).toHaveLength(4);
  const other = database();
  const another = await Journal.open(other, null);
  await another.journal.append([{ n: 1, text: "of another journal" }]);
  for (const [name, bytes] of copy) folder.files.set(name, bytes);
  expect((await Journal.open(other, folder)).rows).toEqual([{ n: 1, text: "of another journal" }]);
});

test("a purge is in the copy too", async () => {
  const folder = new Folder();
  const { journal } = await Journal.open(database(), folder);
  await journal.append([row(1), row(2), row(3)]);
  await journal.purge({ n: 2, text: "what 1 and 2 came to" });
  expect((await Journal.open(database(), folder)).rows).toEqual([{ n: 2, text: "what 1 and 2 came to" }, row(3)]);
});

test("a row that was cut short is left out; a copy that was cut short is none, and the one before it counts", async () => {
  const folder = new Folder();
  const { journal } = await Journal.open(database(), folder);
  await journal.append([row(1)]);
  await journal.append([row(2)]);
  folder.cut(3);
  expect((await readTwin(folder)).rows).toEqual([row(1)]);
  folder.files.set("journal-9", new TextEncoder().encode('{"rows":2}\n{"n":1,"text":"row 1"}\n{"n":2,'));
  expect(await readTwin(folder)).toEqual({ generation: 1, rows: [row(1)] });
});

test("a copy that can't be written ends, and the journal goes on without it", async () => {
  const [folder, kept] = [new Folder(), database()];
  const { journal } = await Journal.open(kept, folder);
  await journal.append([row(1)]);
  folder.full = true;
  await journal.append([row(2)]);
  await vi.waitFor(() => expect(folder.files.size).toBe(0));
  expect((await Journal.open(kept, folder)).rows).toEqual([row(1), row(2)]);
  expect((await Journal.open(kept, null)).rows).toEqual([row(1), row(2)]);
});
