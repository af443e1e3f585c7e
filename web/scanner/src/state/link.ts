/** What a pairing code says about where it belongs. */
export interface PairingCode {
  /** What the engine takes. */
  token: string;
  /** Set when the link leads to another server than this page's. */
  elsewhere: string | null;
}

/** Reads a scanned or pasted text. Whether the token is any good only the server knows. */
export function readPairingCode(text: string, origin: string): PairingCode | null {
  const code = text.trim();
  if (code === "") return null;
  let url: URL;
  try {
    url = new URL(code);
  } catch {
    return /\s/.test(code) ? null : { token: code, elsewhere: null };
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return { token: code, elsewhere: null };
  const token = /^#pair=(.+)$/.exec(url.hash)?.[1];
  if (token === undefined) return null;
  return { token, elsewhere: url.origin === origin ? null : code };
}

/** The pairing link this page was opened by, taken out of the address bar: a token isn't left lying about. */
export function pairingLink(): string | null {
  if (!location.hash.startsWith("#pair=")) return null;
  const link = location.href;
  history.replaceState(null, "", location.pathname + location.search);
  return link;
}
