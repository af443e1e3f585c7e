/** A pairing token, and the server that it belongs to. */
export interface PairingCode {
  /** The token, which the engine needs to pair. */
  token: string;
  /** The link, if it leads to another server than this page's. Null otherwise. */
  elsewhere: string | null;
}

/** Reads a scanned or pasted text. Null: it is no pairing code. Only the server knows whether the token is valid. */
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

/** The address that a page was opened with: a pairing link, a link without a code, or an address without a link. */
export type Opened = { kind: "link"; link: string } | { kind: "bad" } | { kind: "nothing" };

/** The part of the page that this module uses. */
export interface Place {
  location: Pick<Location, "hash" | "href" | "pathname" | "search" | "origin">;
  history: Pick<History, "replaceState">;
  /** A function, because reading `sessionStorage` throws where the browser blocks site data. */
  storage: () => Pick<Storage, "getItem" | "setItem" | "removeItem">;
}

const KEY = "admit-pairing-link";
const here = (): Place => ({ location, history, storage: () => sessionStorage });

/**
 * Takes the pairing link from the address bar, so that nobody can read the token there later. The tab stores the link until it is
 * used, so that a reload does not lose it.
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
    // It is lost when the page closes.
  }
  return { kind: "link", link };
}

/** Forgets the link, because it was used or another code replaced it. */
export function forgetLink(place: Pick<Place, "storage"> = here()): void {
  try {
    place.storage().removeItem(KEY);
  } catch {
    // The browser blocks storage, so no link was stored.
  }
}

function kept(place: Place): string | null {
  try {
    return place.storage().getItem(KEY);
  } catch {
    return null;
  }
}
