/** Guest lists: who may keep one. */
import type { MemberView } from "../../../shared/api/types";

/** The members who can get a guest list: promoters, and the member who keeps it now, even if their role has changed. */
export const keepers = (members: readonly MemberView[], now: string | null): MemberView[] =>
  members.filter((one) => one.role === "promoter" || one.id === now);
