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

/** What this phone reads: the event's kinds, and those that its own setting adds. */
export function allFormats(event: readonly ExtraFormat[], own: readonly ExtraFormat[]): ExtraFormat[] {
  return EXTRA_FORMATS.filter((format) => event.includes(format) || own.includes(format));
}

/** Bars rather than squares: read along one line, so a ticket on its side needs the picture turned. */
const BARS: ReadonlySet<Format> = new Set<Format>(["Code128", "PDF417", "EAN13", "Codabar"]);

/**
 * How the decoder looks at a frame. Measured (experience §3): inverted and dim codes are read, and two are enough to notice
 * a second ticket. The text is the code's own: the library's default would write a GS1 code for people, as `(01)0123`.
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
