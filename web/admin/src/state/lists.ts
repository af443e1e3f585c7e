/** Guest lists: who may keep one. */
import type { MemberView } from "../../../shared/api/types";

/** The members a list can be given to: promoters, and whoever keeps it now, also where they have another role by now. */
export const keepers = (members: readonly MemberView[], now: string | null): MemberView[] =>
  members.filter((one) => one.role === "promoter" || one.id === now);
