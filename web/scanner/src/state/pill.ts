import type { ListView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { since, type ServerTime } from "./clock.ts";
import { span } from "./format.ts";

/** Ages of the list, milliseconds: silent below the first, worth amber above the second (experience §9). */
const LIST_SILENT_MS = 5 * 60_000;
const LIST_OLD_MS = 30 * 60_000;

/** Fewer scans than this are with the server before anybody has read that they are on their way. */
const SYNC_SHOWN_FROM = 5;

/**
 * How old the list is, in milliseconds: since the server last said that it is the newest. So an unchanged list stays
 * young while the server is there, however long ago it was made.
 */
export function listAge(list: ListView, now: ServerTime): number {
  return since(list.checked_at, now);
}

/** What staff should know of the list. */
interface ListNews {
  text: string;
  /** For the pill's face, where `text` is too long for it. */
  short?: string;
  /** Worth amber. */
  old: boolean;
}

/** What staff should know of the list; null: nothing. */
export function listNews(list: ListView | null, now: ServerTime): ListNews | null {
  if (list === null) return null;
  const age = listAge(list, now);
  const old = list.expired || age > LIST_OLD_MS;
  if (list.expired) return { text: words.pill.listExpired, short: words.pill.listExpiredShort, old };
  const aged = age >= LIST_SILENT_MS;
  if (list.newer !== null) {
    return { text: aged ? `${words.pill.newTickets}, ${words.pill.listAge(span(age))}` : words.pill.newTickets, old };
  }
  if (!aged) return null;
  return { text: old ? words.pill.listOld(span(age)) : words.pill.listAge(span(age)), old };
}

/** An upload under way, from the first scan of a backlog to its last. */
export interface SyncProgress {
  /** Scans of the backlog. */
  total: number;
  /** Of these, already with the server. */
  done: number;
}

/**
 * How far a backlog has got: `before` is what this gave for the view before. A backlog ends when nothing waits; scans
 * made meanwhile join it.
 */
export function syncProgress(before: SyncProgress | null, view: View): SyncProgress | null {
  if (view.unsent === 0) return null;
  const total = Math.max(view.unsent, before === null ? 0 : before.total);
  return { total, done: total - view.unsent };
}

/** Whether the upload under way is worth a word on the home screen. */
export function syncShows(view: View, sync: SyncProgress | null): sync is SyncProgress {
  return view.sending > 0 && sync !== null && sync.total >= SYNC_SHOWN_FROM;
}

export interface PillLine {
  /** Everything there is to say, for those who listen and for the sheet behind it. */
  text: string;
  /** The one thing that matters most, short enough to leave the gate its name. */
  short: string;
  attention: boolean;
  busy: boolean;
}

/**
 * The one line on how this device stands with the server. Offline is normal: amber with a number, never an alarm.
 * `unsaved`: the app would not start again without a network.
 */
export function pillOf(
  view: View,
  now: ServerTime,
  sync: SyncProgress | null = null,
  unsaved = false,
): PillLine {
  const busy = syncShows(view, sync);
  const parts: string[] = [];
  if (view.captive) parts.push(words.pill.captive);
  else if (!view.online) parts.push(words.pill.offline);
  else if (view.suspended) parts.push(words.pill.suspended);
  // What goes out or comes in says as much; the line stays short enough that the camera below it does not move.
  else if (!busy && !unsaved && (view.list === null || view.list.newer === null)) parts.push(words.pill.online);
  if (busy) parts.push(words.sync.syncingScans(view.unsent));
  else if (view.unsent > 0) parts.push(words.pill.toSend(view.unsent));
  // Of an event that its organiser ended the banner says so.
  const over = view.event_status === "ended" || view.event_status === "archived";
  const list = over && view.list?.expired === true ? null : listNews(view.list, now);
  if (list !== null) parts.push(list.text);
  if (unsaved) parts.push(words.pill.notSaved);
  if (view.problems.length > 0) parts.push(words.pill.refused(view.problems.length));
  const attention = !view.online || view.captive || view.suspended || unsaved || list?.old === true || view.problems.length > 0;
  const waiting = view.unsent > 0 && !busy ? ` · ${words.format.count(view.unsent)}` : "";
  const first = view.captive || !view.online || view.suspended ? `${parts[0]}${waiting}` : (urgent(view, busy, unsaved, list) ?? `${words.pill.online}${waiting}`);
  return { text: capital(parts.join(" · ")), short: capital(first), attention, busy };
}

/** What an online device tells before all else; null: nothing but that it is online. */
function urgent(view: View, busy: boolean, unsaved: boolean, list: ListNews | null): string | null {
  if (busy) return words.sync.syncingScans(view.unsent);
  if (unsaved) return words.pill.notSaved;
  if (view.problems.length > 0) return words.pill.refused(view.problems.length);
  if (list?.old !== true && view.list?.newer != null) return words.pill.newTickets;
  return list === null ? null : (list.short ?? list.text);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
