/**
 * Imports a file of guests. The server reads the file with the person's mapping, again after each change, and then imports it. The
 * browser never reads the file's content.
 */
import { api, Problem } from "../../../shared/api/client";
import type { ImportMapping, ImportProgress, ImportResult, Listed } from "../../../shared/api/types";
import { words } from "../../../shared/words/organiser";
import { type Asked, IGNORE, questionsOf, readAnew, withAnswer, withColumn } from "./import-mapping";
import { inWords } from "./problems";
import { readAgain } from "./session.svelte";

const { importing: said } = words;

/** Choices that follow each other within this time are sent together, in milliseconds. */
const SETTLES_MS = 250;
/** How often the app asks the server for the progress, in milliseconds. */
const ASKS_MS = 300;

/** Copies the chosen file. So the app imports what it showed, even if a program saves the file again meanwhile. */
const kept = async (file: File): Promise<File> => new File([await file.arrayBuffer()], file.name, { type: file.type });

/** A random key of one request, by which the app asks for its progress. */
const key = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");

export class Importer {
  file = $state.raw<File | null>(null);
  /** The mapping: what the person said, or else what the server remembers of the last file with the same header. */
  mapping = $state.raw<ImportMapping>({});
  /** Whether a part of the mapping was remembered from an earlier file. */
  remembered = $state(false);
  /** The result of a dry run. While `checking` is true, it does not contain the newest choices. */
  preview = $state.raw<ImportResult | null>(null);
  asked = $state.raw<Asked[]>([]);
  /** The sheets of the workbook, in the order in which the server first named them. */
  sheets = $state.raw<string[]>([]);
  checking = $state(false);
  importing = $state(false);
  progress = $state.raw<ImportProgress | null>(null);
  failure = $state("");
  /** The action to offer again after the server was not reached or failed. */
  again = $state<"check" | "import" | null>(null);
  /** Whether no column was recognised. Then nothing is imported until a person says what a column is. */
  unrecognised = $state(false);
  /** The result of the import. Null before it. */
  done = $state.raw<ImportResult | null>(null);
  listId = $state("");
  /** Whether the import mails passes. A person must choose that. */
  mails = $state(false);
  #said = false;
  /** Whether a person said something about this file. */
  #edited = false;
  /** Whether the server refused the file's header, so that the app reads the first column as the name. */
  #nameless = false;
  #version = 0;
  #read = 0;
  #reading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `base` is the event's address in the API. */
  constructor(readonly base: string) {}

  /** Takes a file, and lets the server read it. */
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

  /** Forgets the file and its mapping. */
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

  /** Whether leaving the page now loses what a person said about the file. */
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
  /** Removes the mapping: what was said about this file, and what was remembered of earlier ones. */
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

  /** Lets the server read the file with the present mapping. If the mapping changes meanwhile, the file is read again; only the newest answer counts. */
  check(settles = 0): void {
    this.#version += 1;
    this.checking = true;
    this.#well();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readAll(), settles);
  }

  async #readAll(): Promise<void> {
    // One request at a time, since the server needs seconds for a large file. The loop sends the newest mapping afterwards.
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
      // A sent mapping replaces the remembered one. So the first change must send all of the remembered mapping with it.
      this.mapping = result.mapping;
      this.remembered = Object.values(result.mapping).some((one) => typeof one !== "object" || Object.keys(one).length > 0);
    }
    this.asked = questionsOf(this.asked, result, this.mapping);
    const { sheet, other_sheets: others } = result.file;
    const sheets = sheet === null ? [] : [sheet, ...others];
    this.sheets = [...this.sheets.filter((one) => sheets.includes(one)), ...sheets.filter((one) => !this.sheets.includes(one))];
  }

  /**
   * Handles a refusal. The server refuses a header if it recognises no column. To show the columns in spite of that, the app lets
   * the file be read once more with the first column as the name. It never offers that result for import.
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

  /** Imports the file as shown. Gives `true` if that succeeded. */
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
  /** Asks for the progress until the request is over. Answers without this request's key are ignored. */
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

  /** Ends the dry runs, because the page is left. An import that is under way goes on. */
  close(): void {
    this.#version += 1;
    clearTimeout(this.#timer);
    this.checking = false;
  }
}
