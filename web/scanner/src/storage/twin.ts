/**
 * A second copy of the journal, in a file of the browser's private file system. Chromium discards all of a site's IndexedDB when
 * it finds its log damaged, and a kill between two writes of that log leaves it so: the journal went with it, once in some sixty
 * kills around a verdict (web/e2e/kills.test.ts). The copy is written after the journal and never ahead of it: where it holds
 * more at a start, the browser lost rows that it had confirmed.
 */
import type { Row } from "../../../shared/core/engine.ts";

/** One file that only this tab writes. */
export interface TwinFile {
  /** All of it. */
  read(): Uint8Array;
  /** Adds bytes at its end; they survive the browser, not yet the power. */
  append(bytes: Uint8Array): void;
  /** They survive the power too. */
  flush(): void;
  close(): void;
}

/** The folder the copies lie in. */
export interface TwinFolder {
  names(): Promise<string[]>;
  /** The file of that name, made if there is none. */
  open(name: string): Promise<TwinFile>;
  remove(name: string): Promise<void>;
}

/** What a copy held. */
export interface Kept {
  /** Of the writer that wrote it; 0 where there is no copy. */
  generation: number;
  rows: Row[];
}

/** Rows are flushed so long after they were written, milliseconds: a verdict does not wait for it. */
const FLUSH_MS = 100;
const NAME = /^journal-(\d+)$/;

/** The newest copy that is whole. Where no copy can be read there is none. */
export async function readTwin(folder: TwinFolder | null): Promise<Kept> {
  const nothing = { generation: 0, rows: [] };
  if (folder === null) return nothing;
  try {
    const generations = (await folder.names()).flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
    for (const generation of generations.sort((a, b) => b - a)) {
      const file = await folder.open(`journal-${generation}`);
      const rows = rowsOf(file.read());
      file.close();
      if (rows !== null) return { generation, rows };
    }
  } catch {
    // Blocked, or still another tab's: the journal alone holds.
  }
  return nothing;
}

/** Keeps the copy of one writer. Whatever goes wrong ends the copy, never the journal: an old one would say what is not so. */
export class Twin {
  #file: TwinFile | null = null;
  #flush: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    private readonly folder: TwinFolder,
    private readonly name: string,
  ) {}

  /** Writes a new copy of all rows and removes the older ones. `null` where this browser keeps no files. */
  static async begin(folder: TwinFolder | null, generation: number, rows: readonly Row[]): Promise<Twin | null> {
    if (folder === null) return null;
    const twin = new Twin(folder, `journal-${generation}`);
    try {
      await folder.remove(twin.name).catch(() => {});
      twin.#file = await folder.open(twin.name);
      // The head says how many rows belong to it: a copy that a kill cut short is none.
      twin.#file.append(lines([{ rows: rows.length }, ...rows]));
      twin.#file.flush();
      for (const name of await folder.names()) {
        // One that a tab of before still holds is older than this one, and goes at the next start.
        if (name !== twin.name && NAME.test(name)) await folder.remove(name).catch(() => {});
      }
    } catch {
      await twin.#end();
      return null;
    }
    return twin;
  }

  /** Rows that the journal has stored. */
  append(rows: readonly Row[]): void {
    this.#write(rows);
  }

  /** The journal begins with this row from now on. */
  purge({ n, text }: Row): void {
    this.#write([{ first: n, text }]);
  }

  close(): void {
    clearTimeout(this.#flush);
    this.#file?.close();
    this.#file = null;
  }

  #write(what: readonly object[]): void {
    try {
      this.#file?.append(lines(what));
    } catch {
      void this.#end();
      return;
    }
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined;
      try {
        this.#file?.flush();
      } catch {
        void this.#end();
      }
    }, FLUSH_MS);
  }

  async #end(): Promise<void> {
    try {
      this.close();
    } finally {
      const names = await this.folder.names().catch(() => []);
      for (const name of names) if (NAME.test(name)) await this.folder.remove(name).catch(() => {});
    }
  }
}

function lines(what: readonly object[]): Uint8Array {
  return new TextEncoder().encode(what.map((one) => `${JSON.stringify(one)}\n`).join(""));
}

/** The rows a copy adds up to; `null` where it was cut short before it was whole. A row that was cut short was never shown. */
function rowsOf(bytes: Uint8Array): Row[] | null {
  const texts = new TextDecoder().decode(bytes).split("\n");
  texts.pop();
  let rows: Row[] = [];
  let least: number | null = null;
  for (const text of texts) {
    const line = parsed(text);
    if (line === null) break;
    if (least === null) least = Number(line.rows);
    else if (line.first !== undefined) rows = [{ n: line.first, text: String(line.text) }, ...rows.filter((row) => row.n > Number(line.first))];
    else rows.push({ n: Number(line.n), text: String(line.text) });
    if (rows.length >= (least ?? 0)) least = 0;
  }
  const inOrder = rows.every((row, at) => at === 0 || row.n === (rows[at - 1]?.n ?? 0) + 1);
  return least === 0 && inOrder ? rows : null;
}

function parsed(text: string): { rows?: number; first?: number; n?: number; text?: string } | null {
  try {
    return JSON.parse(text) as { rows?: number; first?: number; n?: number; text?: string };
  } catch {
    return null;
  }
}

/** The folder in this browser; `null` where it has none, or a worker may not write to it at once. */
export async function browserFolder(): Promise<TwinFolder | null> {
  try {
    const root = await navigator.storage.getDirectory();
    if (!("createSyncAccessHandle" in FileSystemFileHandle.prototype)) return null;
    const folder = await root.getDirectoryHandle("admit-journal", { create: true });
    return {
      async names() {
        const names: string[] = [];
        for await (const name of (folder as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(name);
        return names;
      },
      remove: (name) => folder.removeEntry(name),
      async open(name) {
        const file = await folder.getFileHandle(name, { create: true });
        const handle = await file.createSyncAccessHandle();
        return {
          read() {
            const bytes = new Uint8Array(handle.getSize());
            handle.read(bytes, { at: 0 });
            return bytes;
          },
          append(bytes) {
            const at = handle.getSize();
            if (handle.write(bytes, { at }) !== bytes.length) throw new Error("the file took a part only");
          },
          flush: () => handle.flush(),
          close: () => handle.close(),
        };
      },
    };
  } catch {
    return null;
  }
}
