import type { ListView, View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { since, type ServerTime } from "./clock.ts";
import { span } from "./format.ts";

/** Ages of the list, milliseconds. Below the first its age is not shown; above the second the label is amber (experience §9). */
const LIST_SILENT_MS = 5 * 60_000;
const LIST_OLD_MS = 30 * 60_000;

/** An upload of fewer scans is not shown, because it ends before anybody has read the text. */
const SYNC_SHOWN_FROM = 5;

/**
 * The age of the list: milliseconds since the server last said that it is the newest. So an online device's list stays young, even
 * if it was made long ago.
 */
export function listAge(list: ListView, now: ServerTime): number {
  return since(list.checked_at, now);
}

/** A text about the list for staff. */
interface ListNews {
  text: string;
  /** A shorter text for the label, if `text` is too long for it. */
  short?: string;
  /** Whether the label is amber. */
  old: boolean;
}

/** A text about the list for staff. Null: there is nothing to say. */
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

/** The progress of an upload, from the first scan of a backlog to its last. */
export interface SyncProgress {
  /** The number of scans of the backlog. */
  total: number;
  /** The number of these scans that the server has. */
  done: number;
}

/**
 * The progress of a backlog. `before`: the result for the view before. A backlog ends when no scan is unsent. Scans that are made
 * meanwhile count to it.
 */
export function syncProgress(before: SyncProgress | null, view: View): SyncProgress | null {
  if (view.unsent === 0) return null;
  const total = Math.max(view.unsent, before === null ? 0 : before.total);
  return { total, done: total - view.unsent };
}

/** Whether the home screen mentions the upload under way. */
export function syncShows(view: View, sync: SyncProgress | null): sync is SyncProgress {
  return view.sending > 0 && sync !== null && sync.total >= SYNC_SHOWN_FROM;
}

export interface PillLine {
  /** The whole text, for screen readers and for the sheet that the label opens. */
  text: string;
  /** The most important part, short enough that the gate's name fits beside it. */
  short: string;
  attention: boolean;
  busy: boolean;
}

/**
 * The status line about this device and the server. Being offline is normal, so it is shown amber with a number, never as an
 * alarm. `unsaved`: the browser does not keep the app's files, so the app would not start without a network.
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
  // "Online" is left out if an upload or a download is named. So the line stays short and the camera below it does not move.
  else if (!busy && !unsaved && (view.list === null || view.list.newer === null)) parts.push(words.pill.online);
  if (busy) parts.push(words.sync.syncingScans(view.unsent));
  else if (view.unsent > 0) parts.push(words.pill.toSend(view.unsent));
  // If the organiser ended the event, the banner says so.
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

/** The most important text of an online device. Null: only that it is online. */
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
