import { expect, test } from "vitest";
import type { MemberView } from "../../../shared/api/types";
import { keepers } from "./lists.ts";

const member = (id: string, role: MemberView["role"]): MemberView => ({ id, role, name: id, email: `${id}@club.example`, created_at: "2026-06-07T18:00:00Z" });

test("a list is given to promoters; who keeps it now stays among the choices", () => {
  const members = [member("owner", "owner"), member("pat", "promoter"), member("mo", "manager"), member("di", "door")];
  const ids = (now: string | null) => keepers(members, now).map((one) => one.id);
  expect(ids(null)).toEqual(["pat"]);
  expect(ids("pat")).toEqual(["pat"]);
  expect(ids("mo")).toEqual(["pat", "mo"]);
  expect(ids("somebody who left")).toEqual(["pat"]);
});
