/** English. Its type is the type of every other language. */
import { devices } from "./en/devices.ts";
import { events } from "./en/events.ts";
import { frame, network, session, times } from "./en/frame.ts";
import { gates } from "./en/gates.ts";
import { guest, guests, lists } from "./en/guests.ts";
import { importing } from "./en/importing.ts";
import { live, needs } from "./en/live.ts";
import { counting } from "./en/numbers.ts";
import { organisation } from "./en/organisation.ts";
import { overview, readiness } from "./en/overview.ts";
import { passes, tickets } from "./en/passes.ts";
import { report } from "./en/report.ts";
import { review } from "./en/review.ts";

export const en = {
  /** The locale of numbers, days and lists; 24-hour times in every language. */
  locale: "en-GB",
  counting,
  network,
  session,
  frame,
  times,
  events,
  overview,
  readiness,
  live,
  needs,
  review,
  guests,
  guest,
  lists,
  tickets,
  passes,
  importing,
  gates,
  devices,
  report,
  organisation,
};
