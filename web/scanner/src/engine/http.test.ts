import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SendEffect } from "../../../shared/core/engine.ts";
import { send } from "./http.ts";

let server: Server;
let origin: string;
let got: { headers: IncomingMessage["headers"]; body: Buffer }[];

beforeEach(async () => {
  got = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      got.push({ headers: request.headers, body: Buffer.concat(chunks) });
      if (request.url === "/portal") response.writeHead(302, { location: "/login" }).end();
      else if (request.url !== "/silent") response.writeHead(200, { "X-Admit-Witness": "w" }).end("answer");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const effect = (path: string, body: string | null): SendEffect => ({
  type: "send",
  request: 1,
  method: body === null ? "GET" : "POST",
  path: origin + path,
  headers: [["content-type", "application/json"]],
  body,
  timeout_ms: 1000,
});
const go = (path: string, body: string | null) => send(effect(path, body), new AbortController().signal, () => {});

test("an answer is bytes, and its header names are lower-case", async () => {
  const answer = await go("/", "{}");
  expect(new TextDecoder().decode(answer.body)).toBe("answer");
  expect(answer.headers).toContainEqual(["x-admit-witness", "w"]);
  expect(got[0]?.headers["content-encoding"]).toBeUndefined();
});

test("a large body goes out compressed, with its length", async () => {
  const body = JSON.stringify({ scans: "x".repeat(20_000) });
  await go("/", body);
  expect(got[0]?.headers["content-encoding"]).toBe("gzip");
  expect(Number(got[0]?.headers["content-length"])).toBe(got[0]?.body.length);
  expect(gunzipSync(got[0]?.body ?? Buffer.alloc(0)).toString()).toBe(body);
});

test("each upload begins a trace of its own, other requests none", async () => {
  const upload = (path: string) =>
    send({ ...effect("", "{}"), server: origin, path }, new AbortController().signal, () => {});
  const uploads = ["/api/scanning/sync", "/api/scanning/sync", "/api/scans", "/api/scans/sync"];
  for (const path of [...uploads, "/api/scanning/health"]) await upload(path);
  await go("/api/scanning/manifest", null);
  const traces = got.map((request) => request.headers["traceparent"]);
  for (const trace of traces.slice(0, 4)) expect(trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(new Set(traces.slice(0, 4)).size).toBe(4);
  expect(traces.slice(4)).toEqual([undefined, undefined]);
});

test("a captive portal's redirect is not followed", async () => {
  const answer = await go("/portal", "{}");
  // Browsers hide the redirect (status 0), and Node shows it (302). `send` follows it in neither.
  expect([0, 302]).toContain(answer.status);
  expect(got).toHaveLength(1);
});

test("giving up ends the wait", async () => {
  const controller = new AbortController();
  const waiting = send(effect("/silent", "{}"), controller.signal, () => {});
  controller.abort();
  await expect(waiting).rejects.toThrow();
});
