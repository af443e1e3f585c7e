/** Keys that act on a page: letters only, and never where somebody types (WCAG 2.1.4). */

/** The letter that was pressed, in upper case, or `/`; empty where the key belongs to a field, a dialog or the browser. */
export function pageKey(pressed: KeyboardEvent): string {
  // A key that is held down acts once: what it would act on next was not looked at.
  if (pressed.repeat || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return "";
  const target = pressed.target as HTMLElement | null;
  if (target && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)) {
    const box = target instanceof HTMLInputElement && target.type === "checkbox";
    if (!box) return "";
  }
  if (document.querySelector("dialog[open]")) return "";
  return pressed.key.length === 1 ? pressed.key.toUpperCase() : "";
}
