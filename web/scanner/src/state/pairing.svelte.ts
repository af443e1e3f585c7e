import type { PageInput } from "../engine/messages.ts";
import type { PairingPlace } from "../engine/place.ts";
import type { Sheets } from "./sheets.svelte.ts";

/** As much of the scanner as this needs. */
export interface PairingHost {
  readonly sheets: Pick<Sheets, "current">;
  readonly persistence: { tapped(): void };
  input(input: PageInput): void;
  look(token: string): void;
}

/** How this device comes to its gate: a code that it reads, or one that it shows. */
export class Pairing {
  /** What was read, or what the page was opened with. */
  code = $state("");
  error = $state("");
  /** What a pairing code leads to; `place` is null until the server said so. */
  place = $state.raw<{ token: string; place: PairingPlace | null } | null>(null);
  /** The page was opened by a link that holds no pairing code. */
  badLink = $state(false);

  constructor(private readonly host: PairingHost) {}

  /** Asks what a pairing code is for; `place` follows. */
  look(token: string): void {
    this.error = "";
    this.place = { token, place: null };
    this.host.look(token);
  }

  onPlace(token: string, place: PairingPlace): void {
    if (this.place?.token === token) this.place = { token, place };
  }

  pair(code: string, name: string): void {
    this.#begin();
    this.host.input({ type: "pair", code, name });
  }

  /** This phone shows a code of its own, for an organiser to approve. */
  ask(name: string): void {
    this.#begin();
    this.host.input({ type: "ask_pairing", name });
  }

  cancel(): void {
    this.error = "";
    this.host.input({ type: "cancel_pairing" });
  }

  #begin(): void {
    this.error = "";
    // However it was begun, also by a link: what comes of it is said there.
    this.host.sheets.current = "pair";
    this.host.persistence.tapped();
  }
}
