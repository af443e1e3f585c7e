/** A small panel that a button opens. Escape, a click elsewhere or a choice closes it. The button then gets the focus back. */

export class Menu {
  open = $state(false);
  button: HTMLElement | undefined = $state();
  panel: HTMLElement | undefined = $state();

  toggle = (): void => {
    this.open = !this.open;
  };
  close = (): void => {
    if (!this.open) return;
    const inside = this.panel?.contains(document.activeElement);
    this.open = false;
    if (inside) this.button?.focus();
  };
  /** A listener for the window: a click elsewhere closes the open panel. */
  elsewhere = (event: MouseEvent): void => {
    const target = event.target as Node;
    if (this.open && !this.panel?.contains(target) && !this.button?.contains(target)) this.open = false;
  };
  escape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !this.open) return;
    event.preventDefault();
    this.open = false;
    this.button?.focus();
  };
}
