// The file is read again after each choice: one request at a time, and the newest choice counts. Passes are mailed only if a person chose it.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Importer } from "./importer.svelte";

vi.mock("./session.svelte", () => ({ readAgain: () => undefined }));

interface Sent {
  query: URLSearchParams;
  mapping: Record<string, unknown> | null;
  file: File;
  answer: (body: unknown, status?: number) => void;
  lose: () => void;
}
let sent: Sent[] = [];
const report = (over: Record<string, unknown> = {}) => ({
  file: { format: "text", encoding: "UTF-8", delimiter: ",", sheet: null, other_sheets: [], preamble: [], rows: 1 },
  columns: [{ header: "a", samples: [], becomes: "name", by: "guess" }, { header: "b", samples: [], becomes: null, by: "nothing" }],
  mapping: {}, created: 1, updated: 0, questions: [], ...over,
});
const json = (body: unknown, status = 200): Response => new Response(JSON.stringify(body), { status });
let progress: Record<string, unknown> | null = null;
beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  progress = null;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (path === "/api/imports/progress") {
      const key = last().query.get("progress");
      return Promise.resolve(json({ items: progress ? [{ ...progress, key }, { stage: "reading", done: 0, of: 0, key: "another" }] : [], next_cursor: null }));
    }
    const form = init.body as FormData;
    const mapping = form.get("mapping");
    return new Promise<Response>((answer, lose) =>
      sent.push({
        query: new URL(path, "http://x").searchParams,
        mapping: typeof mapping === "string" ? JSON.parse(mapping) : null,
        file: form.get("file") as File,
        answer: (body, status) => answer(json(body, status)),
        lose: () => lose(new TypeError("network")),
      }),
    );
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
/** Advances the clock, and lets due timers and promises run. */
const settle = (milliseconds = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds);
const last = (): Sent => sent.at(-1) as Sent;
async function chosen(): Promise<Importer> {
  const importer = new Importer("/api/events/e");
  await importer.choose(new File(["a,b\n1,2\n"], "list.csv"));
  await settle();
  return importer;
}

test("a file is read as soon as it is chosen, and nothing is said about it before anybody did", async () => {
  const importer = await chosen();
  expect(importer.checking).toBe(true);
  expect(last().query.get("dry_run")).toBe("1");
  expect(last().mapping).toBeNull();
  expect([last().file.name, await last().file.text()]).toEqual(["list.csv", "a,b\n1,2\n"]);
  last().answer(report());
  await settle();
  expect(importer.checking).toBe(false);
  expect(importer.preview?.created).toBe(1);
});

test("what was said of an earlier file like it is shown, sent again with the first change, and forgotten on demand", async () => {
  const importer = await chosen();
  last().answer(report({ mapping: { columns: { "#2": "note" }, day_first: true } }));
  await settle();
  expect(importer.remembered).toBe(true);
  importer.setColumn(0, "email");
  await settle(250);
  expect(last().mapping).toEqual({ columns: { "#1": "email", "#2": "note" }, day_first: true });
  last().answer(report({ mapping: last().mapping }));
  await settle();
  importer.forget();
  await settle(250);
  expect([last().mapping, importer.remembered]).toEqual([{}, false]);
});

test("of a file whose header is known from an earlier one only, the columns are asked for when that is forgotten", async () => {
  const importer = await chosen();
  last().answer(report({ mapping: { columns: { "#1": "name" } } }));
  await settle();
  importer.forget();
  await settle(250);
  last().answer({ code: "invalid_request", errors: [{ path: "header", message: "must name the columns" }] }, 400);
  await settle();
  expect([importer.unrecognised, last().mapping]).toEqual([true, { columns: { "#1": "name" } }]);
});

test("choices in quick succession are sent together, and an answer to an older one is dropped", async () => {
  const importer = await chosen();
  last().answer(report());
  await settle();
  importer.setColumn(0, "email");
  importer.setColumn(1, "name");
  expect(sent).toHaveLength(1);
  await settle(250);
  expect(sent).toHaveLength(2);
  expect(last().mapping).toEqual({ columns: { "#1": "email", "#2": "name" } });
  // A further choice waits while the server reads the file.
  importer.setColumn(1, "note");
  await settle(1_000);
  expect(sent).toHaveLength(2);
  last().answer(report({ created: 7 }));
  await settle();
  expect(importer.preview?.created).toBe(1);
  expect(sent).toHaveLength(3);
  expect(last().mapping).toEqual({ columns: { "#1": "email", "#2": "note" } });
  last().answer(report({ created: 8 }));
  await settle(1_000);
  expect(importer.preview?.created).toBe(8);
  expect(sent).toHaveLength(3);
});

test("another file forgets what was said about the first, and its late answer", async () => {
  const importer = await chosen();
  const first = last();
  importer.mails = true;
  await importer.choose(new File(["x"], "other.csv"));
  await settle();
  first.answer(report({ created: 99 }));
  await settle();
  expect(last().file.name).toBe("other.csv");
  expect([importer.preview, importer.mails]).toEqual([null, false]);
});

test("an import mails only where somebody said so, and can't be sent twice", async () => {
  const importer = await chosen();
  last().answer(report());
  await settle();
  importer.setList("crew");
  await settle();
  last().answer(report());
  await settle();
  void importer.run();
  void importer.run();
  await settle();
  expect(sent).toHaveLength(3);
  expect([...last().query.keys()].sort()).toEqual(["guest_list_id", "progress"]);
  last().answer(report({ import_id: "i", dry_run: false }));
  await settle();
  expect(importer.done?.import_id).toBe("i");
});

test("a box that was ticked is sent with the import alone", async () => {
  const importer = await chosen();
  expect(last().query.has("mail_passes")).toBe(false);
  last().answer(report());
  await settle();
  importer.mails = true;
  void importer.run();
  await settle();
  expect(last().query.get("mail_passes")).toBe("1");
  expect(last().query.has("dry_run")).toBe(false);
});

test("what the server never heard of is not imported; what it was carrying out may be complete", async () => {
  const importer = await chosen();
  last().answer(report());
  await settle();
  void importer.run();
  await settle();
  last().lose();
  await settle();
  expect(importer.failure).toMatch(/^Not imported/);
  expect(importer.again).toBe("import");
  progress = { stage: "storing", done: 10, of: 100 };
  void importer.run();
  await settle(300);
  expect(importer.progress).toMatchObject(progress as object);
  last().lose();
  await settle();
  expect(importer.failure).toMatch(/^The connection was lost during the import/);
});

test("a refusal is told in the words of the page, and is not tried again by itself", async () => {
  const importer = await chosen();
  last().answer({ code: "invalid_request", errors: [{ path: "body", message: "has a quote that is never closed, from line 2 on" }] }, 400);
  await settle(10_000);
  expect(importer.failure).toBe("The file has a quote that is never closed, from line 2 on.");
  expect([importer.again, importer.checking, sent.length]).toEqual([null, false, 1]);
});

test("a file that can't be read any more is said so", async () => {
  const importer = new Importer("/api/events/e");
  const gone = new File([], "gone.csv");
  gone.arrayBuffer = () => Promise.reject(new DOMException("gone", "NotReadableError"));
  await importer.choose(gone);
  expect(importer.failure).toBe("gone.csv can't be read from this computer any more. Choose it again.");
  expect(sent).toHaveLength(0);
});

test("a header of which nothing is known still shows its columns, and nothing is offered before somebody says what one is", async () => {
  const importer = await chosen();
  const refusal = { code: "invalid_request", errors: [{ path: "header", message: "must name the columns; it has: Imię, Nazwisko" }] };
  last().answer(refusal, 400);
  await settle();
  expect(last().mapping).toEqual({ columns: { "#1": "name" } });
  last().answer(report({ created: 5 }));
  await settle();
  expect([importer.unrecognised, importer.failure]).toEqual([true, ""]);
  expect(await importer.run()).toBe(false);
  importer.setColumn(1, "note");
  await settle(250);
  expect(last().mapping).toEqual({ columns: { "#1": "ignore", "#2": "note" } });
  // A note names nobody either.
  last().answer(refusal, 400);
  await settle();
  expect(importer.failure).toMatch(/^No column was recognised/);
  importer.setColumn(1, "last_name");
  await settle(250);
  last().answer(report({ created: 4 }));
  await settle();
  expect([importer.unrecognised, importer.failure, importer.preview?.created]).toEqual([false, "", 4]);
});

test("a header that is refused in any reading is told as the server tells it", async () => {
  const importer = await chosen();
  const refusal = { code: "invalid_request", errors: [{ path: "header", message: "is of a pretix check-in list without the tickets' secrets: export it with the secrets" }] };
  last().answer(refusal, 400);
  await settle();
  last().answer(refusal, 400);
  await settle(1_000);
  expect(sent).toHaveLength(2);
  expect(importer.failure).toBe("The file is of a pretix check-in list without the tickets' secrets: export it with the secrets.");
  expect([importer.unrecognised, importer.preview]).toEqual([false, null]);
});
