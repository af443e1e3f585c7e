// The decoder reads each kind of code from a picture, and gives exactly the text that the picture was made from.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { beforeAll, describe, expect, test } from "vitest";
import { prepareZXingModule as prepareReader, readBarcodes } from "zxing-wasm/reader";
import { prepareZXingModule as prepareWriter, writeBarcode } from "zxing-wasm/writer";
import { allFormats, EXTRA_FORMATS, type Format, formatsOf, readerOptions } from "./formats.ts";

const require = createRequire(import.meta.url);
const wasm = (name: string) => {
  const bytes = readFileSync(require.resolve(`zxing-wasm/${name}`));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
};
beforeAll(async () => {
  await Promise.all([
    prepareReader({ overrides: { wasmBinary: wasm("reader/zxing_reader.wasm") }, fireImmediately: true }),
    prepareWriter({ overrides: { wasmBinary: wasm("writer/zxing_writer.wasm") }, fireImmediately: true }),
  ]);
});

async function picture(format: Format, text: string, rotate = 0): Promise<Blob> {
  const { image, error } = await writeBarcode(text, { format, scale: 4, addQuietZones: true, rotate } as never);
  if (image === null) throw new Error(error);
  return image;
}
const read = async (image: Blob, formats: readonly Format[]) => (await readBarcodes(image, readerOptions(formats))).map((one) => one.text);

const TEXTS: Record<Format, string> = {
  QRCode: "https://example.org/p/7F3K-Q2ZD-81",
  Code128: "0030611-AB",
  PDF417: "M1BOTHA/ANA 7F3KQ2",
  Aztec: "i0CVBahn-Karte 7F3K",
  DataMatrix: "\u00e9t\u00e9-2026/0042",
  EAN13: "4006381333931",
  Codabar: "A40156B",
};

test("the event's kinds are read, and a phone's own setting adds to them and takes none away", () => {
  expect(formatsOf(["ean_13", "aztec"])).toEqual(["Aztec", "EAN13"]);
  expect(formatsOf(["code_128", "pdf_417", "aztec", "data_matrix", "ean_13", "codabar"])).toEqual([...EXTRA_FORMATS]);
  expect(formatsOf(undefined)).toEqual([]);
  expect(allFormats(["Aztec"], ["Code128", "Aztec"])).toEqual(["Code128", "Aztec"]);
  expect(allFormats(["Aztec"], [])).toEqual(["Aztec"]);
});

describe.each(Object.entries(TEXTS) as [Format, string][])("%s", (format, text) => {
  test("is read when it is switched on", async () => {
    expect(await read(await picture(format, text), [format])).toEqual([text]);
  });
  test("is read when all are", async () => {
    expect(await read(await picture(format, text), EXTRA_FORMATS)).toEqual([text]);
  });
  if (format !== "QRCode") {
    test("is not read while it is switched off", async () => {
      expect(await read(await picture(format, text), [])).toEqual([]);
    });
  }
});

test("a ticket of bars held on its side is read", async () => {
  expect(await read(await picture("Code128", "0030611-AB", 90), ["Code128"])).toEqual(["0030611-AB"]);
});

test("QR alone is looked for as it was: no picture is turned for bars that no ticket has", () => {
  expect(readerOptions([])).toEqual({ formats: ["QRCode"], tryHarder: true, tryInvert: true, tryRotate: false, maxNumberOfSymbols: 2, textMode: "Plain" });
  expect(readerOptions(["DataMatrix", "QRCode"])).toMatchObject({ formats: ["QRCode", "DataMatrix"], tryRotate: false });
});
