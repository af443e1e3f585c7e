/** The theme: light or night. It follows the device, unless a person chose one. This browser stores the choice. */

export type Theme = "system" | "light" | "night";
const KEY = "admit.theme";

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "night" ? value : "system";
  } catch {
    return "system";
  }
}

export const theme = $state<{ chosen: Theme }>({ chosen: kept() });

function show(): void {
  const root = document.documentElement;
  if (theme.chosen === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.chosen;
}

/** Applies the stored choice. The app calls it before it draws anything. */
export const beginTheme = show;

export function choose(next: Theme): void {
  theme.chosen = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The browser stores nothing. The choice then holds until the page is closed.
  }
  show();
}
