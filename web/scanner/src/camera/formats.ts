import type { ReaderOptions } from "zxing-wasm/reader";
import type { BarcodeKind } from "../../../shared/core/engine.ts";

/** Kinds of codes that tickets of other systems carry. QR is always read. */
export const EXTRA_FORMATS = ["Code128", "PDF417", "Aztec", "DataMatrix", "EAN13", "Codabar"] as const;
export type ExtraFormat = (typeof EXTRA_FORMATS)[number];
export type Format = "QRCode" | ExtraFormat;

/** The event's word for each kind. */
const KINDS: Record<ExtraFormat, BarcodeKind> = {
  Code128: "code_128",
  PDF417: "pdf_417",
  Aztec: "aztec",
  DataMatrix: "data_matrix",
  EAN13: "ean_13",
  Codabar: "codabar",
};

/** The kinds that an event wants read. */
export function formatsOf(kinds: readonly BarcodeKind[] = []): ExtraFormat[] {
  return EXTRA_FORMATS.filter((format) => kinds.includes(KINDS[format]));
}

/** The kinds of codes that this phone reads: those of the event, and those that the phone's own setting adds. */
export function allFormats(event: readonly ExtraFormat[], own: readonly ExtraFormat[]): ExtraFormat[] {
  return EXTRA_FORMATS.filter((format) => event.includes(format) || own.includes(format));
}

/** Kinds of codes that consist of bars. They are read along a line, so for a ticket on its side the picture must be turned. */
const BARS: ReadonlySet<Format> = new Set<Format>(["Code128", "PDF417", "EAN13", "Codabar"]);

/**
 * The options by which the decoder reads a frame. Measurements chose them (experience §3): inverted and dim codes are read. Two
 * codes at most are looked for, since that shows a second ticket. `textMode` keeps a code's exact text: by default the library
 * would change a GS1 code to a form for people, such as `(01)0123`.
 */
export function readerOptions(formats: readonly Format[]): ReaderOptions {
  const all = new Set<Format>(["QRCode", ...formats]);
  return {
    formats: [...all],
    tryHarder: true,
    tryInvert: true,
    tryRotate: [...all].some((format) => BARS.has(format)),
    maxNumberOfSymbols: 2,
    textMode: "Plain",
  };
}
