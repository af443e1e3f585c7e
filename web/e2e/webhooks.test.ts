// Messages signed by the official Standard Webhooks library for JavaScript, to the real binary (issue 4). The library for
// Python does the same in contract/webhooks.py.
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit } from "./harness/index.ts";

interface Endpoint {
  id: string;
  url: string;
  secret: string;
}

let admit: Admit;
let endpoint: Endpoint;

async function organiser<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(admit.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${admit.demo.api_token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as T;
}

/** Sends a message that the library signed. `sent`: another body to send in place of the signed one. */
async function send(secret: string, id: string, body: string, minutes = 0, sent = body): Promise<[number, string]> {
  const at = new Date(Date.now() + minutes * 60_000);
  const answer = await fetch(endpoint.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": Math.floor(at.getTime() / 1000).toString(),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
    body: sent,
  });
  const said = (await answer.json()) as { status: string | number; code?: string };
  return [answer.status, said.code ?? String(said.status)];
}

beforeAll(async () => {
  admit = await Admit.start();
  endpoint = await organiser<Endpoint>("/api/webhook-endpoints", { event_id: admit.demo.event_id, name: "JavaScript" });
});
afterAll(async () => {
  await admit?.kill("SIGTERM");
});

test("what the library signs is taken in, once", async () => {
  const body = JSON.stringify({ type: "INSERT", record: { id: 7, name: "Zoë 🎟", email: "zoe@example.org" } });
  expect(await send(endpoint.secret, "msg_1", body)).toEqual([200, "created"]);
  expect(await send(endpoint.secret, "msg_1", body)).toEqual([200, "created"]);
  expect(await send(endpoint.secret, "msg_1", body.replace("Zo", "Jo"))).toEqual([409, "webhook_id_reused"]);
  expect(await send(endpoint.secret, "msg_2", body, -4)).toEqual([200, "unchanged"]);
  const rotated = await organiser<Endpoint>(`/api/webhook-endpoints/${endpoint.id}/rotate-secret`, null);
  expect(await send(rotated.secret, "msg_3", body)).toEqual([200, "unchanged"]);
  expect(await send(endpoint.secret, "msg_4", body)).toEqual([200, "unchanged"]);
});

test("what is not signed, or not now, is refused", async () => {
  const body = JSON.stringify({ record: { id: 8, name: "Nobody" } });
  expect(await send(endpoint.secret, "msg_5", body, 0, `${body} `)).toEqual([401, "webhook_refused"]);
  expect(await send(`whsec_${"A".repeat(43)}=`, "msg_5", body)).toEqual([401, "webhook_refused"]);
  expect(await send(endpoint.secret, "msg_5", body, -6)).toEqual([401, "webhook_too_old"]);
  expect(await send(endpoint.secret, "msg_5", body, 6)).toEqual([401, "webhook_too_new"]);
});
