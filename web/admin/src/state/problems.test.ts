import { expect, test } from "vitest";
import { Problem } from "../../../shared/api/client.ts";
import { gateId, inWords } from "./problems.ts";

test("a wrong field is named as the form names it, and said at that field", () => {
  const refused = new Problem(400, "invalid", "ends_at must be after starts_at", [{ path: "ends_at", message: "must be after starts_at" }]);
  const wrong = inWords(refused, { ends_at: "The end", starts_at: "The start" });
  expect(wrong).toEqual({ at: { ends_at: "The end must be after the start." }, rest: "" });
});

test("a message that is a sentence of its own gets no label before it", () => {
  const refused = new Problem(400, "invalid", "", [
    { path: "ends_at", message: "the event must end after it starts" },
    { path: "name", message: "is the name of the gate north already: choose another" },
    { path: "zone", message: "'a b' is no zone" },
  ]);
  expect(inWords(refused, { ends_at: "The end", name: "The name", zone: "The zone" }).at).toEqual({
    ends_at: "The event must end after it starts.",
    name: "The name is the name of the gate north already: choose another.",
    zone: "'a b' is no zone.",
  });
});

test("what belongs to no field is said all the same", () => {
  expect(inWords(new Problem(409, "gate_exists", "there is such a gate"), {}).rest).toBe("There is such a gate.");
  expect(inWords(new Error("Out of paper"), {}).rest).toBe("Out of paper");
});

test("a refusal about what is no field of the form is told in the server's own words", () => {
  const words = "only what a promoter voided is made good by one";
  const refused = new Problem(403, "forbidden", `ticket_status: ${words}`, [{ path: "ticket_status", message: words }]);
  expect(inWords(refused, { name: "The name", ticket_status: "" })).toEqual({ at: {}, rest: "Only what a promoter voided is made good by one." });
});

test("every name makes a good id for its gate, and no gate takes another's", () => {
  expect(gateId("Door A", [])).toBe("door-a");
  expect(gateId("Entrée Ñ", [])).toBe("entree-n");
  expect(gateId("日本", [])).toBe("gate-1");
  expect(gateId("中国", ["gate-1"])).toBe("gate-2");
  expect(gateId("Door  A!", ["door-a"])).toBe("door-a-2");
});

test("a moment that the server names is told in the event's own time", () => {
  const late = new Problem(400, "invalid", "", [{ path: "ends_at", message: "must be after 2026-11-27T20:00:00Z" }]);
  expect(inWords(late, { ends_at: "The end" }, "Europe/Berlin").at["ends_at"]).toMatch(/^The end must be after Fri 27 Nov( 2026)?, 21:00\.$/);
});
