import { expect, test } from "vitest";
import { address, columnsOf, drawPassword, endsAfter, formOf, isOrganisation, readSection, rolesFor, sectionsOf, tokenState, webhookState } from "./organisation.ts";

test("owners see the members, managers what programs need and mails say, the others nothing of it", () => {
  expect(sectionsOf("owner")).toEqual(["members", "tokens", "webhooks", "mails", "audit"]);
  expect(sectionsOf("manager")).toEqual(["tokens", "webhooks", "mails", "audit"]);
  for (const role of ["promoter", "door", "viewer"] as const) expect(sectionsOf(role)).toEqual([]);
  expect([readSection("/organisation", "owner"), readSection("/organisation", "manager"), readSection("/organisation/members", "manager")]).toEqual(["members", "tokens", "members"]);
  expect([isOrganisation("/organisation"), isOrganisation(address("webhooks")), isOrganisation("/organisation/else"), isOrganisation("/organisations")]).toEqual([true, true, false, false]);
});

test("a token is valid, ends soon, has expired or was revoked", () => {
  const now = Date.parse("2026-11-29T10:00:00Z");
  const token = (expires_at: string, revoked_at: string | null = null) => tokenState({ expires_at, revoked_at }, now);
  expect(token(endsAfter(365, now))).toBe("valid");
  expect(token(endsAfter(13, now))).toBe("soon");
  expect(token("2026-11-29T10:00:00Z")).toBe("expired");
  expect(token(endsAfter(365, now), "2026-11-28T10:00:00Z")).toBe("revoked");
  expect(rolesFor("owner")).toContain("owner");
  expect(rolesFor("manager")).toEqual(["manager", "promoter", "door", "viewer"]);
});

test("a first password is four groups of letters that nobody mistakes, each as likely as another", () => {
  expect(drawPassword()).toMatch(/^[a-hjkmnp-z2-9]{4}(-[a-hjkmnp-z2-9]{4}){3}$/);
  // A random byte that would make the first letters more likely is not used.
  let round = 0;
  const drawn = drawPassword((bytes) => bytes.fill((round += 1) === 1 ? 255 : 0));
  expect(drawn).toBe("aaaa-aaaa-aaaa-aaaa");
});

test("a webhook whose last message was refused says so, until one is taken in", () => {
  const state = (received_at: string | null, refused_at: string | null, enabled = true) => webhookState({ received_at, refused_at, enabled });
  expect(state(null, null)).toBe("silent");
  expect(state("2026-11-29T10:00:00Z", "2026-11-29T09:00:00Z")).toBe("on");
  expect(state("2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z")).toBe("refused");
  expect(state(null, "2026-11-29T11:00:00Z")).toBe("refused");
  expect(state(null, "2026-11-29T11:00:00Z", false)).toBe("off");
});

test("a column left empty is not read", () => {
  const columns = { external_id: "id", name: "full_name", email: null, phone: null, party_size: null, guest_list: null, entry_type: null, updated_at: null };
  expect(columnsOf({ ...formOf(columns), email: " mail " })).toEqual({ ...columns, email: "mail" });
  expect(columnsOf(formOf(columns))).toEqual(columns);
});
