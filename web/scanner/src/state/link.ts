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

/** What a page was opened with: a pairing link, a link that holds no code, or nothing. */
export type Opened = { kind: "link"; link: string } | { kind: "bad" } | { kind: "nothing" };

/** As much of the page as this needs. */
export interface Place {
  location: Pick<Location, "hash" | "href" | "pathname" | "search" | "origin">;
  history: Pick<History, "replaceState">;
  /** A function: where site data is blocked, even naming it throws. */
  storage: () => Pick<Storage, "getItem" | "setItem" | "removeItem">;
}

const KEY = "admit-pairing-link";
const here = (): Place => ({ location, history, storage: () => sessionStorage });

/**
 * The pairing link this page was opened by, taken out of the address bar: a token isn't left lying about. This tab keeps it
 * until it was used, so that a reload does not lose it.
 */
export function pairingLink(place: Place = here()): Opened {
  const { location, history } = place;
  if (location.hash === "" || location.hash === "#") {
    const link = kept(place);
    return link === null ? { kind: "nothing" } : { kind: "link", link };
  }
  const link = location.href;
  history.replaceState(null, "", location.pathname + location.search);
  if (readPairingCode(link, location.origin) === null) {
    forgetLink(place);
    return { kind: "bad" };
  }
  try {
    place.storage().setItem(KEY, link);
  } catch {
    // It lives as long as the page.
  }
  return { kind: "link", link };
}

/** The link was used, or another code took its place. */
export function forgetLink(place: Pick<Place, "storage"> = here()): void {
  try {
    place.storage().removeItem(KEY);
  } catch {
    // Nothing was kept either.
  }
}

function kept(place: Place): string | null {
  try {
    return place.storage().getItem(KEY);
  } catch {
    return null;
  }
}
