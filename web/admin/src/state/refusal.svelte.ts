import { inWords, nothingWrong, type Wrong } from "./problems.ts";

/** The server's refusal of a form: a message at each wrong field, and the rest above the fields. */
export class Refusal {
  #wrong = $state.raw<Wrong>(nothingWrong());

  /** `labels`: the form's label of each field, as for `inWords`. */
  constructor(private readonly labels: Record<string, string>) {}

  /** By field. */
  get at(): Wrong["at"] {
    return this.#wrong.at;
  }

  /** The messages that belong to no field of the form. */
  get rest(): string {
    return this.#wrong.rest;
  }

  /** Sends the form, and gives whether that succeeded. Moments in messages are shown in `zone`. */
  async unless(send: () => Promise<unknown>, zone?: string): Promise<boolean> {
    this.say(nothingWrong());
    try {
      await send();
      return true;
    } catch (error) {
      this.say(inWords(error, this.labels, zone));
      return false;
    }
  }

  /** Shows errors that the app found before it sent anything, or removes them. */
  say(wrong: Wrong): void {
    this.#wrong = wrong;
  }
}
