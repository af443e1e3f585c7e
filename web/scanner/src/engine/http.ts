import type { SendEffect } from "../../../shared/core/engine.ts";

/** An answer as it came, from the server or from a proxy or portal. The engine judges whether it is Admit's. */
export interface Answer {
  status: number;
  headers: [string, string][];
  body: Uint8Array;
}

/** Longer bodies are sent compressed, in characters. */
const COMPRESS_FROM = 8 * 1024;
/** The requests that carry scans. Each begins a trace, which the server continues. */
const UPLOADS = new Set(["/api/scanning/sync", "/api/scans/sync", "/api/scans"]);

/**
 * Sends one request. It follows no redirect, because a redirect comes from a captive portal and the engine must notice that.
 * A redirect is given as status 0 without headers. The promise rejects if there is no answer.
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

/** The header of a new, sampled trace (W3C Trace Context). Its ids are random, so they tell nothing about the device. */
function traceparent(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`;
}

/** Compresses the whole text before the request is sent, so that the request has a `Content-Length`. */
export async function gzip(text: string): Promise<ArrayBuffer> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).arrayBuffer();
}

async function readAll(response: Response, progress: (received: number, total: number) => void): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  // `Content-Length` counts compressed bytes, but the reader gives decompressed ones. So the total is unknown then.
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
