import type { PageInput } from "../engine/messages.ts";
import type { PairingPlace } from "../engine/place.ts";
import type { Sheets } from "./sheets.svelte.ts";

/** The part of the scanner that this module uses. */
export interface PairingHost {
  readonly sheets: Pick<Sheets, "current">;
  readonly persistence: { tapped(): void };
  input(input: PageInput): void;
  look(token: string): void;
}

/** Pairs this device with a gate, by a code that it reads or by one that it shows. */
export class Pairing {
  /** The pairing code that was read, or the link that the page was opened with. */
  code = $state("");
  error = $state("");
  /** The event and gate of a pairing code. `place` is null until the server answered. */
  place = $state.raw<{ token: string; place: PairingPlace | null } | null>(null);
  /** Whether the page was opened by a link without a pairing code. */
  badLink = $state(false);

  constructor(private readonly host: PairingHost) {}

  /** Asks the server for the event and gate of a pairing code. `onPlace` gets the answer. */
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
    // The sheet shows the result of pairing, also if a link began it.
    this.host.sheets.current = "pair";
    this.host.persistence.tapped();
  }
}
