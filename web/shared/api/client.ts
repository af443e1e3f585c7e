/**
 * The one way the organiser's app talks to the server: JSON in, JSON out, every failure a `Problem` with words a person
 * can act on.
 */
import { words } from "../words/organiser/index.ts";
import type { FieldProblem } from "./types.ts";

/** `application/problem+json`, or the network's own failure (`code: "offline"`). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly errors: FieldProblem[] = [],
  ) {
    super(message);
  }
  /** The message for one field, if it is among those that are wrong. */
  field(path: string): string | undefined {
    return this.errors.find((error) => error.path === path)?.message;
  }
}

/** Called on 401, so that the app can show the sign-in. */
export let onSignedOut: () => void = () => {};
export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

/** Called with each answer, and where there was none; a proxy without its server answers 502 to 504. */
let onAnswer: (answered: boolean) => void = () => {};
export function whenAnswered(then: (answered: boolean) => void): void {
  onAnswer = then;
}
const isProxys = (status: number): boolean => status >= 502 && status <= 504;

let ahead = 0;
/** Readings of the server's clock are good to a second; what differs by less is no news. */
const JITTER_MS = 2_000;

/** A moment of this computer's clock as the server's clock had it: a laptop may be wrong by minutes. */
export const serverTime = (local = Date.now()): number => local + ahead;

/** Learns from an answer's `Date` how far the server's clock is ahead; `sent` and `heard` are by the clock here. */
export function readClock(date: string | null, sent: number, heard: number): void {
  // The header names a whole second: on average it was half over.
  const read = date === null ? NaN : Date.parse(date) + 500 - (sent + heard) / 2;
  if (Math.abs(read - ahead) > JITTER_MS) ahead = read;
}

async function problemOf(response: Response): Promise<Problem> {
  const plain = words.network.answered(response.status);
  try {
    const body = await response.json();
    const errors = (body.errors ?? []) as FieldProblem[];
    const words = body.detail ?? errors.map((error) => `${error.path}: ${error.message}`).join("; ");
    return new Problem(response.status, body.code ?? "unknown", words || body.title || plain, errors);
  } catch {
    return new Problem(response.status, "unknown", plain);
  }
}

async function send(method: string, path: string, body?: BodyInit, type?: string): Promise<Response> {
  let response: Response;
  const sent = Date.now();
  try {
    response = await fetch(path, {
      method,
      body,
      credentials: "same-origin",
      // A change that is sent on leaving the page still arrives; browsers allow this for small bodies only.
      keepalive: typeof body === "string" && body.length < 8_000,
      headers: type ? { "content-type": type, accept: "application/json" } : { accept: "application/json" },
    });
  } catch {
    onAnswer(false);
    throw new Problem(0, "offline", method === "GET" ? words.network.unread : words.network.notSaved);
  }
  readClock(response.headers.get("date"), sent, Date.now());
  onAnswer(!isProxys(response.status));
  if (response.ok) return response;
  if (response.status !== 401) throw await problemOf(response);
  // The server tells callers of its API how to sign in there; people are told how here.
  if (path === "/api/session") throw new Problem(401, "signed_out", words.session.refused);
  onSignedOut();
  throw new Problem(401, "signed_out", words.session.over);
}

async function json<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Readings that were begun before anybody asked for them. */
const early = new Map<string, Promise<Response>>();
/** Begins a reading that is needed in a moment; the first `get` of it takes the answer. A failure is forgotten. */
export async function readEarly(path: string): Promise<void> {
  const answer = send("GET", path);
  early.set(path, answer);
  await answer.catch(() => early.delete(path));
}
function takeEarly(path: string): Promise<Response> | undefined {
  const answer = early.get(path);
  early.delete(path);
  return answer;
}

export const api = {
  get: async <T>(path: string): Promise<T> => json<T>(await (takeEarly(path) ?? send("GET", path))),
  post: async <T>(path: string, body: unknown = {}): Promise<T> =>
    json<T>(await send("POST", path, JSON.stringify(body), "application/json")),
  patch: async <T>(path: string, body: unknown): Promise<T> =>
    json<T>(await send("PATCH", path, JSON.stringify(body), "application/json")),
  remove: async <T>(path: string, body?: unknown): Promise<T> =>
    json<T>(
      body === undefined
        ? await send("DELETE", path)
        : await send("DELETE", path, JSON.stringify(body), "application/json"),
    ),
  upload: async <T>(path: string, body: Blob | string, type: string): Promise<T> =>
    json<T>(await send("POST", path, body, type)),
  /** A form with a file; the browser writes its boundary. */
  form: async <T>(path: string, body: FormData): Promise<T> => json<T>(await send("POST", path, body)),
};
