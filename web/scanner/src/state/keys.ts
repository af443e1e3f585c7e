import { words } from "../../../shared/words/scanner/index.ts";
import type { Scanner } from "./scanner.svelte.ts";
import { asksCount } from "./words.ts";

/**
 * Handles a shortcut: a single key outside text fields that no hardware scanner sent. Enter and Space: next. Digits: how many of
 * a party go in. /: search. U: undo. T: torch. H: history. S: sync. Esc: back (experience §7, §9).
 */
export function onKey(scanner: Scanner, key: string): void {
  const shown = scanner.verdicts.shown;
  const question = shown !== null && asksCount(shown.verdict) ? shown.verdict : null;
  if (scanner.sheets.current !== null) return;
  if (/^[1-9]$/.test(key)) {
    const persons = Number(key);
    if (question !== null && persons <= question.may_admit) scanner.verdicts.count(persons);
    return;
  }
  switch (key.toLowerCase()) {
    case "enter":
    case " ":
      scanner.verdicts.next();
      return;
    case "escape":
      if (question !== null) scanner.verdicts.count(0);
      else scanner.verdicts.next();
      return;
    case "/":
      if (question === null && scanner.scans) scanner.sheets.open("search");
      return;
    case "u":
      if (question === null) scanner.verdicts.undoLast();
      return;
    case "t":
      void scanner.camera.toggleTorch();
      return;
    case "h":
      if (question === null && scanner.scans) scanner.sheets.open("history");
      return;
    case "s":
      if (scanner.view?.device_id == null) return;
      scanner.input({ type: "sync_now" });
      scanner.say(words.sync.syncing);
      return;
  }
}
