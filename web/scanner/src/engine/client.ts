import type { DeviceType } from "../../../shared/core/engine.ts";
import type { Aim, FromEngine, PageInput, ToEngine } from "./messages.ts";

/** Starts the engine worker, and exchanges messages with it. */
export class EngineClient {
  readonly #worker: Worker;

  /** `reader` is a port that goes to the worker. The decoder worker sends the codes that it reads to this port. */
  constructor(reader: MessagePort, steal: boolean, listen: (message: FromEngine) => void) {
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "engine" });
    this.#worker.onmessage = (event: MessageEvent<FromEngine>) => listen(event.data);
    this.#worker.onerror = (event) =>
      listen({ kind: "fault", what: "core", reason: event.message ? "error" : "no_engine", error: event.message });
    this.#worker.postMessage({ kind: "boot", deviceType: deviceType(), steal, reader } satisfies ToEngine, [reader]);
  }

  /** `readAt`: for a code, when it was read, milliseconds since 1970. */
  input(input: PageInput, readAt?: number): void {
    this.#post(readAt === undefined ? { kind: "input", input } : { kind: "input", input, readAt });
  }

  aim(aim: Aim): void {
    this.#post({ kind: "aim", aim });
  }

  /** Asks to which event and gate a pairing token belongs. */
  look(token: string): void {
    this.#post({ kind: "look", token });
  }

  hold(on: boolean): void {
    this.#post({ kind: "hold", on });
  }

  next(): void {
    this.#post({ kind: "next" });
  }

  /** Ends the worker. The browser then releases the worker's writer lock. */
  end(): void {
    this.#worker.terminate();
  }

  #post(message: ToEngine): void {
    this.#worker.postMessage(message);
  }
}

function deviceType(): DeviceType {
  const agent = navigator.userAgent;
  // An iPad's browser calls it a Mac, but no Mac has a touch screen.
  if (/iPad/.test(agent) || (/Macintosh/.test(agent) && navigator.maxTouchPoints > 1)) return "ipad";
  return /Mobi|Android|iPhone/.test(agent) || matchMedia("(pointer: coarse)").matches ? "phone" : "desktop";
}
