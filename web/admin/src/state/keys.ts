/** Shortcuts of a page. They are single letters, and do nothing while somebody types (WCAG 2.1.4). */

/** The pressed letter as a capital, or `/`. Empty if the key belongs to a field, a dialog or the browser. */
export function pageKey(pressed: KeyboardEvent): string {
  // A key that is held down acts once, because nobody has looked at the next row yet.
  if (pressed.repeat || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return "";
  const target = pressed.target as HTMLElement | null;
  if (target && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)) {
    const box = target instanceof HTMLInputElement && target.type === "checkbox";
    if (!box) return "";
  }
  if (document.querySelector("dialog[open]")) return "";
  return pressed.key.length === 1 ? pressed.key.toUpperCase() : "";
}
