import { inWords, nothingWrong, type Wrong } from "./problems.ts";

/** Why the server refused what a form sent last: a message at each wrong field, and the rest above the fields. */
export class Refusal {
  #wrong = $state.raw<Wrong>(nothingWrong());

  /** Labels are those of `inWords`. */
  constructor(private readonly labels: Record<string, string>) {}

  /** By field. */
  get at(): Wrong["at"] {
    return this.#wrong.at;
  }

  /** What belongs to no field shown. */
  get rest(): string {
    return this.#wrong.rest;
  }

  /** Sends, and tells whether it went well. Moments that a refusal names are told in `zone`. */
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

  /** Says what was found wrong before anything was sent, or that nothing is any more. */
  say(wrong: Wrong): void {
    this.#wrong = wrong;
  }
}
