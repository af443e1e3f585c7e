import type { SendEffect } from "../../../shared/core/engine.ts";

/** An answer as it came, whoever gave it: the engine judges whether it is one of ours. */
export interface Answer {
  status: number;
  headers: [string, string][];
  body: Uint8Array;
}

/** Bodies above this are sent compressed, bytes. */
const COMPRESS_FROM = 8 * 1024;
/** What carries scans: the server continues the trace that such a request begins. */
const UPLOADS = new Set(["/api/scanning/sync", "/api/scans/sync", "/api/scans"]);

/**
 * Sends one request. Redirects are not followed: a captive portal's must be seen, not obeyed; it comes back as
 * status 0 without headers. Rejects when there is no answer.
 */
export async function send(
  effect: SendEffect,
  signal: AbortSignal,
  progress: (received: number, total: number) => void,
): Promise<Answer> {
  const headers = new Headers(effect.headers);
  if (effect.method === "POST" && UPLOADS.has(effect.path)) headers.set("traceparent", traceparent());
  let body: BodyInit | undefined;
  if (effect.body !== null) {
    body = effect.body;
    if (effect.body.length > COMPRESS_FROM && typeof CompressionStream === "function") {
      body = await gzip(effect.body);
      headers.set("content-encoding", "gzip");
    }
  }
  const response = await fetch((effect.server ?? "") + effect.path, {
    method: effect.method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal,
    ...(effect.urgent === true ? { priority: "high" as const } : {}),
    redirect: "manual",
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  if (response.type === "opaqueredirect") return { status: 0, headers: [], body: new Uint8Array() };
  return { status: response.status, headers: [...response.headers], body: await readAll(response, progress) };
}

/** A new trace and its first span, sampled (W3C Trace Context): random, so it tells nothing about the device. */
function traceparent(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`;
}

/** Compressed whole, so that it goes out with a length: our server refuses a body without one. */
export async function gzip(text: string): Promise<ArrayBuffer> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).arrayBuffer();
}

async function readAll(response: Response, progress: (received: number, total: number) => void): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  // The length counts the bytes on the wire; of a compressed body we only see what comes out.
  const encoded = response.headers.has("content-encoding");
  const total = encoded ? 0 : Number(response.headers.get("content-length") ?? 0);
  const chunks: Uint8Array[] = [];
  let received = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    received += value.length;
    progress(received, total);
  }
  const only = chunks[0];
  if (chunks.length === 1 && only !== undefined) return only;
  const body = new Uint8Array(received);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}
