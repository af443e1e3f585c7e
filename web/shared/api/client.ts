/**
 * All requests of the organiser's app to the server. Bodies and answers are JSON. Each failure is thrown as a `Problem`,
 * whose message says what a person can do.
 */
import { words } from "../words/organiser/index.ts";
import type { FieldProblem } from "./types.ts";

/** A problem that the server answered (`application/problem+json`). Without an answer the `code` is `offline`. */
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

/**
 * Called after each request: whether the server answered. The statuses 502 to 504 count as no answer, because they come
 * from a proxy that does not reach the server.
 */
let onAnswer: (answered: boolean) => void = () => {};
export function whenAnswered(then: (answered: boolean) => void): void {
  onAnswer = then;
}
const isProxys = (status: number): boolean => status >= 502 && status <= 504;

let ahead = 0;
/** The `Date` header is exact to a second, so a reading that differs by less than this changes nothing, milliseconds. */
const JITTER_MS = 2_000;

/** Converts a moment of this computer's clock to the server's clock. A laptop's clock may be wrong by minutes. */
export const serverTime = (local = Date.now()): number => local + ahead;

/**
 * Computes from an answer's `Date` header how far the server's clock is ahead. `sent` and `heard` are this computer's times
 * of request and answer.
 */
export function readClock(date: string | null, sent: number, heard: number): void {
  // The header has whole seconds: on average, half a second more had passed.
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
      // With `keepalive` a change that is sent while the page closes still arrives. Browsers allow it for small bodies only.
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
  // The server's message is for programs that call the API. People get the app's own words.
  if (path === "/api/session") throw new Problem(401, "signed_out", words.session.refused);
  onSignedOut();
  throw new Problem(401, "signed_out", words.session.over);
}

async function json<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** GET requests that were sent before a page needed them, by path. */
const early = new Map<string, Promise<Response>>();
/** Sends a GET request that a page will need in a moment. The first `get` of this path takes the answer. If it fails, `get` sends anew. */
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
  /** Sends a form with a file. The browser itself adds the content type with the form's boundary. */
  form: async <T>(path: string, body: FormData): Promise<T> => json<T>(await send("POST", path, body)),
};
