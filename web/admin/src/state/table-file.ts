/** A table's file as text: UTF-8 if it is, else what an older spreadsheet writes; which of the two is said, not guessed in silence. */

export interface TableFile {
  text: string;
  /** It was no UTF-8: read as Windows-1252. */
  legacy: boolean;
}

export function readTable(bytes: Uint8Array): TableFile {
  // UTF-16 is refused by the server with the way out: it is handed over as it is.
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), legacy: false };
  } catch {
    return { text: new TextDecoder("windows-1252").decode(bytes), legacy: true };
  }
}

/** Whether the server should see the bytes themselves: UTF-16 has a mark that it knows. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}
