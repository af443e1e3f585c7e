import { expect, test } from "vitest";
import { placeOf } from "./place.ts";

const answers = (status: number, body: unknown) => (async () => new Response(JSON.stringify(body), { status })) as typeof fetch;
const place = { event_id: "e", event_name: "Harbour Lights", gate_id: "main", gate_name: "Main entrance", device_name: "Main entrance 3" };

test("a good code tells its event, its gate and a name", async () => {
  expect(await placeOf("t", answers(200, place))).toEqual({
    state: "good",
    eventId: "e",
    eventName: "Harbour Lights",
    gateId: "main",
    gateName: "Main entrance",
    deviceName: "Main entrance 3",
  });
});

test.each([
  [410, { code: "pairing_token_used" }, "used"],
  [410, { code: "pairing_token_expired" }, "expired"],
  [404, { code: "not_found" }, "unknown"],
  [400, { code: "invalid_request" }, "unknown"],
  [429, { code: "rate_limited" }, "busy"],
  [503, {}, "silent"],
  // A portal that answers in the server's place.
  [200, { welcome: "to the hotel" }, "silent"],
] as const)("%i %j is %s", async (status, body, state) => {
  expect(await placeOf("t", answers(status, body))).toEqual({ state });
});

test("without a network nothing is known, and a page instead of an answer is none", async () => {
  expect(await placeOf("t", async () => Promise.reject(new TypeError("no network")))).toEqual({ state: "silent" });
  expect(await placeOf("t", async () => new Response("<h1>Hotel</h1>"))).toEqual({ state: "silent" });
});
