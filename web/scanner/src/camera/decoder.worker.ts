/** The decoder worker. It gets frames from the page, and sends the codes in them to the engine worker. */
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";
import wasmUrl from "zxing-wasm/reader/zxing_reader.wasm?url";
import type { ReaderAnswer, ReaderMessage } from "../engine/messages.ts";
import { readerOptions } from "./formats.ts";
import { Failures, NoSurface, textOf } from "./failures.ts";
import type { FromDecoder, ToDecoder } from "./messages.ts";
import { Presence } from "./presence.ts";

const page = self as unknown as DedicatedWorkerGlobalScope;
const post = (message: FromDecoder) => page.postMessage(message);

/** If no code was found for this long, the worker reads the whole picture in every other frame, milliseconds. */
const WIDEN_MS = 5000;

const presence = new Presence();
const failures = new Failures();
let options = readerOptions([]);
let engine: MessagePort | null = null;
let canvas: OffscreenCanvas | null = null;
let context: OffscreenCanvasRenderingContext2D | null = null;
let lastHit = performance.now();
let wide = false;

// Admit serves the library's WASM file itself. By default the library would fetch it from a public server.
const loaded = prepareZXingModule({ overrides: { locateFile: () => wasmUrl }, fireImmediately: true });

page.onmessage = (event: MessageEvent<ToDecoder>) => {
  const message = event.data;
  if (message.kind === "boot") {
    engine = message.engine;
    engine.onmessage = (answer: MessageEvent<ReaderAnswer>) => {
      if (answer.data.kind === "verdict") presence.verdict(answer.data.text, performance.now());
      else presence.declined(answer.data.text);
    };
    loaded.then(
      () => post({ kind: "ready" }),
      (error: unknown) => post({ kind: "fault", fault: { reason: "error", error: textOf(error) } }),
    );
    return;
  }
  if (message.kind === "formats") {
    options = readerOptions(message.formats);
    return;
  }
  void look(message.frame);
};

async function look(frame: VideoFrame | ImageBitmap): Promise<void> {
  let found = false;
  try {
    const image = grab(frame);
    frame.close();
    const results = await readBarcodes(image, options);
    if (failures.read()) post({ kind: "reads" });
    const texts = results.filter((result) => result.isValid).map((result) => result.text);
    const now = performance.now();
    found = texts.length > 0;
    if (found) lastHit = now;
    const sight = presence.see(texts, now);
    if (sight.kind === "crowd") post({ kind: "crowd" });
    if (sight.kind === "code") {
      engine?.postMessage({ text: sight.text, readAt: performance.timeOrigin + now } satisfies ReaderMessage);
    }
  } catch (error) {
    // One frame that can't be read counts as a frame without a code, since the next one follows in 30 ms. Many in a row are a fault.
    const fault = failures.failed(error);
    if (fault !== null) post({ kind: "fault", fault });
  } finally {
    frame.close();
    post({ kind: "done", found });
  }
}

/** The part of a frame to read: the middle square, which the screen shows. If nothing was found for a while, every other frame is read whole. */
function grab(frame: VideoFrame | ImageBitmap): ImageData {
  const width = "displayWidth" in frame ? frame.displayWidth : frame.width;
  const height = "displayHeight" in frame ? frame.displayHeight : frame.height;
  wide = performance.now() - lastHit > WIDEN_MS && !wide;
  const side = Math.min(width, height);
  const [w, h] = wide ? [width, height] : [side, side];
  if (canvas === null || context === null) {
    // Safari before 16.4 has none.
    if (typeof OffscreenCanvas !== "function") throw new NoSurface();
    canvas = new OffscreenCanvas(w, h);
    context = canvas.getContext("2d", { willReadFrequently: true, alpha: false });
    if (context === null) throw new NoSurface();
  } else if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  context.drawImage(frame, (width - w) / 2, (height - h) / 2, w, h, 0, 0, w, h);
  return context.getImageData(0, 0, w, h);
}
