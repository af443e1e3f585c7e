import { toBuffer, toDataURL } from "qrcode";

const LOOK = { errorCorrectionLevel: "M", margin: 4, width: 480 } as const;

/** A QR code as a data URL, for a page. */
export function qrDataUrl(text: string): Promise<string> {
  return toDataURL(text, LOOK);
}

/** A QR code as the bytes of a PNG, for a file. */
export function qrPng(text: string): Promise<Buffer> {
  return toBuffer(text, LOOK);
}
