/**
 * A file on its way into an event: read by the server with what is said about it, again after each change, and then
 * imported. The file itself is never read here.
 */
import { api, Problem } from "../../../shared/api/client";
import type { ImportMapping, ImportProgress, ImportResult, Listed } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser";
import { type Asked, IGNORE, questionsOf, readAnew, withAnswer, withColumn } from "./import-mapping";
import { inWords } from "./problems";
import { readAgain } from "./session.svelte";

const { importing: said } = words;

/** A choice that follows another this soon is sent with it, in milliseconds. */
const SETTLES_MS = 250;
/** How often the server is asked how far it is, in milliseconds. */
const ASKS_MS = 300;

/** A file as it was when it was chosen: what was shown is what is imported, also where a program saves it anew meanwhile. */
const kept = async (file: File): Promise<File> => new File([await file.arrayBuffer()], file.name, { type: file.type });

/** A word for one request, by which the server is asked how far it is. */
const key = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");

export class Importer {
  file = $state.raw<File | null>(null);
  /** What is said about the file: by the reader of the page, else what the server remembers of the last file like it. */
  mapping = $state.raw<ImportMapping>({});
  /** Part of it was said about an earlier file. */
  remembered = $state(false);
  /** What importing would do, as the newest choices have it unless `checking`. */
  preview = $state.raw<ImportResult | null>(null);
  asked = $state.raw<Asked[]>([]);
  /** The sheets of the workbook, in the order in which they were named first. */
  sheets = $state.raw<string[]>([]);
  checking = $state(false);
  importing = $state(false);
  progress = $state.raw<ImportProgress | null>(null);
  failure = $state("");
  /** What may go better when it is done again: the server was not reached. */
  again = $state<"check" | "import" | null>(null);
  /** No column was recognised: nothing comes in until somebody says what one of them is. */
  unrecognised = $state(false);
  /** What the import did. */
  done = $state.raw<ImportResult | null>(null);
  listId = $state("");
  /** Whether passes are mailed: only where somebody says so. */
  mails = $state(false);
  #said = false;
  /** A person said something about this file. */
  #edited = false;
  /** The header was refused as it came. */
  #nameless = false;
  #version = 0;
  #read = 0;
  #reading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `base` is the event's address in the API. */
  constructor(readonly base: string) {}

  /** Takes a file and has it read. */
  async choose(chosen: File): Promise<void> {
    this.clear();
    const mine = ++this.#version;
    try {
      const file = await kept(chosen);
      if (mine !== this.#version) return;
      this.file = file;
      this.check();
    } catch {
      if (mine === this.#version) this.failure = said.file.unreadable(chosen.name);
    }
  }

  /** Puts the file away, with all that was said about it. */
  clear(): void {
    this.#version += 1;
    clearTimeout(this.#timer);
    this.file = this.preview = this.done = this.progress = null;
    this.mapping = {};
    this.asked = [];
    this.sheets = [];
    this.#well();
    this.checking = this.mails = this.unrecognised = this.remembered = this.#said = this.#edited = this.#nameless = false;
  }

  /** What a person said about the file is lost if the page is left now. */
  get unsaved(): boolean {
    return this.#edited && this.file !== null && this.done === null && !this.importing;
  }

  setColumn(place: number, meaning: string): void {
    this.#edited = true;
    if (this.unrecognised) {
      this.unrecognised = false;
      this.#say(withColumn({ ...this.mapping, columns: { "#1": IGNORE } }, place, meaning));
      return;
    }
    this.#say(withColumn(this.mapping, place, meaning));
  }
  answer(question: Asked, answer: string): void {
    this.#edited = true;
    this.#say(withAnswer(this.mapping, question, answer));
  }
  setTypes(what: NonNullable<ImportMapping["new_entry_types"]>): void {
    this.#edited = true;
    this.#say({ ...this.mapping, new_entry_types: what });
  }
  setReading(how: Pick<ImportMapping, "encoding" | "sheet">): void {
    this.asked = [];
    this.unrecognised = this.#nameless = false;
    this.#say(readAnew(this.mapping, how));
  }
  /** Forgets what was said about this file and about earlier ones like it. */
  forget(): void {
    this.asked = [];
    this.remembered = this.#nameless = false;
    this.#say({});
  }
  setList(id: string): void {
    this.listId = id;
    if (this.file) this.check();
  }

  #say(mapping: ImportMapping): void {
    this.mapping = mapping;
    this.#said = true;
    this.check(SETTLES_MS);
  }

  /** Has the file read with all that was said by now. Each change in the meantime is waited for: only the newest counts. */
  check(settles = 0): void {
    this.#version += 1;
    this.checking = true;
    this.#well();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readAll(), settles);
  }

  async #readAll(): Promise<void> {
    // One reading at a time: a large file takes seconds of the server, and the newest question is asked when it ends.
    if (this.#reading) return;
    this.#reading = true;
    while (this.file && this.checking && this.#read !== this.#version) {
      const version = this.#version;
      const answer = await this.#post(true).then(
        (result) => () => this.#show(result),
        (error: unknown) => () => this.#refused(error),
      );
      this.#read = version;
      if (version !== this.#version) continue;
      this.checking = false;
      answer();
    }
    this.#reading = false;
  }
  #show(result: ImportResult): void {
    this.preview = result;
    if (!this.#said) {
      // A mapping that is sent replaces the remembered one: the first change must say all of it again.
      this.mapping = result.mapping;
      this.remembered = Object.values(result.mapping).some((one) => typeof one !== "object" || Object.keys(one).length > 0);
    }
    this.asked = questionsOf(this.asked, result, this.mapping);
    const { sheet, other_sheets: others } = result.file;
    const sheets = sheet === null ? [] : [sheet, ...others];
    this.sheets = [...this.sheets.filter((one) => sheets.includes(one)), ...sheets.filter((one) => !this.sheets.includes(one))];
  }

  /**
   * The server refuses a header of which it knows no column. To show the columns all the same, the file is read once more with
   * the first of them as the name; what that gives is never offered for import.
   */
  #refused(error: unknown): void {
    const header = error instanceof Problem && error.field("header") !== undefined;
    const { columns, ...rest } = this.mapping;
    if (header && columns === undefined && !this.#nameless) {
      this.#nameless = this.unrecognised = this.#said = true;
      this.mapping = { ...rest, columns: { "#1": "name" } };
      this.check();
      return;
    }
    if (this.unrecognised) {
      this.unrecognised = false;
      this.#said = Object.keys(rest).length > 0;
      this.mapping = rest;
    }
    this.#failed(error, "check", said.notChecked);
    if (header && this.preview && this.#nameless) this.failure = said.columns.unrecognised;
  }

  /** Imports what was shown; `true` when it is done. */
  async run(): Promise<boolean> {
    if (!this.preview || this.checking || this.importing || this.unrecognised) return false;
    this.importing = true;
    this.#well();
    try {
      this.done = await this.#post(false);
      return true;
    } catch (error) {
      this.#failed(error, "import", this.progress === null ? said.notImported : said.lost);
      return false;
    } finally {
      this.importing = false;
    }
  }

  async #post(dry: boolean): Promise<ImportResult> {
    const form = new FormData();
    if (this.#said) form.set("mapping", JSON.stringify(this.mapping));
    if (this.file) form.set("file", this.file, this.file.name);
    const mine = key();
    const query = new URLSearchParams({ progress: mine });
    if (dry) query.set("dry_run", "1");
    if (this.listId) query.set("guest_list_id", this.listId);
    if (!dry && this.mails) query.set("mail_passes", "1");
    this.progress = null;
    let over = false;
    void this.#follow(mine, () => over);
    try {
      return await api.form<ImportResult>(`${this.base}/tickets/import?${query}`, form);
    } finally {
      over = true;
    }
  }
  /** Asks how far it is until it is over. What the server does not know yet, or no more, is no news. */
  async #follow(mine: string, over: () => boolean): Promise<void> {
    const pause = () => new Promise((then) => setTimeout(then, ASKS_MS));
    for (await pause(); !over(); await pause()) {
      const all = await api.get<Listed<ImportProgress>>("/api/imports/progress").catch(() => null);
      const progress = all?.items.find((one) => one.key === mine);
      if (progress && !over()) this.progress = progress;
    }
  }

  #well(): void {
    this.failure = "";
    this.again = null;
  }
  #failed(error: unknown, during: "check" | "import", unreached: string): void {
    if (error instanceof Problem && (error.code === "offline" || error.status >= 500)) this.again = during;
    if (error instanceof Problem && error.code === "offline") {
      this.failure = unreached;
      return;
    }
    const columns = Object.entries(said.columns.names).map(([meaning, name]) => [`mapping.columns.${meaning}`, name]);
    const wrong = inWords(error, { ...said.labels, ...said.columns.names, ...Object.fromEntries(columns) });
    this.failure = [...Object.values(wrong.at), wrong.rest].filter(Boolean).join(" ");
    if (during === "check") readAgain(error, async () => this.check());
  }

  /** The page is left: an import that is under way goes on, nothing is read any more. */
  close(): void {
    this.#version += 1;
    clearTimeout(this.#timer);
    this.checking = false;
  }
}
