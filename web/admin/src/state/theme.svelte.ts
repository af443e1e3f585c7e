/** Light or night: like the device, unless a person chose. The choice is kept in this browser. */

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

/** Shows the kept choice; called before anything is drawn. */
export const beginTheme = show;

export function choose(next: Theme): void {
  theme.chosen = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing shows the choice until it is closed.
  }
  show();
}
