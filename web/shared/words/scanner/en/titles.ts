/** A past scan in a few words. */
import type { Screen } from "../../../core/engine.ts";

export const undone = "Undone";
export const exit = (persons: number) => (persons > 1 ? `Exit ${persons}` : "Exit");
/** For a scan that let nobody in: from its screen to a title. The screen `wrong_time` uses the words of its verdict instead. */
export const screens = {
  admit: "Nobody went in",
  admit_party: "Nobody went in",
  exit: "Exit",
  already_in: "Already in",
  check: "Not let in after a check",
  refuse: "Do not admit",
  wrong_place: "Wrong gate",
  ended: "Event ended",
  not_in_list: "Unknown ticket",
  not_a_ticket: "Not one of our codes",
  full: "Area full",
  same_ticket: "Same ticket again",
} satisfies Record<Exclude<Screen, "wrong_time">, string>;
