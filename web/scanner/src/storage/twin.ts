/**
 * A second copy of the journal, in a file of the browser's private file system. Chromium discards all of a site's IndexedDB if its
 * log is damaged, and a kill of the browser between two writes can damage it. Then the journal is lost too: this happened in about
 * one of sixty kills around a verdict (web/e2e/kills.test.ts). The copy is always written after the journal. So if it has more rows
 * at a start, the browser lost rows that it had confirmed.
 */
import type { Row } from "../../../shared/core/engine.ts";

/** A file that only this tab writes. */
export interface TwinFile {
  /** All of it. */
  read(): Uint8Array;
  /** Adds bytes at the file's end. They survive the end of the browser, but not yet a power cut. */
  append(bytes: Uint8Array): void;
  /** Makes all added bytes survive a power cut. */
  flush(): void;
  close(): void;
}

/** The folder with the copies. */
export interface TwinFolder {
  names(): Promise<string[]>;
  /** Opens the file with this name, and makes it if there is none. */
  open(name: string): Promise<TwinFile>;
  remove(name: string): Promise<void>;
}

/** The content of a copy. */
export interface Kept {
  /** The generation of the writer that wrote the copy. 0: there is no copy. */
  generation: number;
  rows: Row[];
}

/** The time from writing rows to the copy to flushing them, milliseconds. A verdict does not wait for the flush. */
const FLUSH_MS = 100;
const NAME = /^journal-(\d+)$/;

/** Reads the newest complete copy. Gives an empty one if no copy can be read. */
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
    // The browser blocks it, or another tab still has the file open. Then only the journal is used.
  }
  return nothing;
}

/** Writes the copy of one writer. Any failure deletes the copy, because an outdated copy would be wrong. The journal goes on. */
export class Twin {
  #file: TwinFile | null = null;
  #flush: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    private readonly folder: TwinFolder,
    private readonly name: string,
  ) {}

  /** Writes a new copy of all rows and removes the older copies. `null`: this browser keeps no files. */
  static async begin(folder: TwinFolder | null, generation: number, rows: readonly Row[]): Promise<Twin | null> {
    if (folder === null) return null;
    const twin = new Twin(folder, `journal-${generation}`);
    try {
      await folder.remove(twin.name).catch(() => {});
      twin.#file = await folder.open(twin.name);
      // The first line says how many rows follow. So a copy that a kill cut short is recognised as incomplete.
      twin.#file.append(lines([{ rows: rows.length }, ...rows]));
      twin.#file.flush();
      for (const name of await folder.names()) {
        // A copy that another tab still has open cannot be removed. It is older than this one, and the next start removes it.
        if (name !== twin.name && NAME.test(name)) await folder.remove(name).catch(() => {});
      }
    } catch {
      await twin.#end();
      return null;
    }
    return twin;
  }

  /** Adds rows that the journal has stored. */
  append(rows: readonly Row[]): void {
    this.#write(rows);
  }

  /** Notes that a purge made this row the first of the journal. */
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

/** The rows of a copy; `null` if it is incomplete. An incomplete last row is left out: its verdict was never shown. */
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

/** The folder of this browser. `null`: it has none, or a worker cannot write to it synchronously. */
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
