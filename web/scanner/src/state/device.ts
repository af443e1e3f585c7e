import { words } from "../../../shared/words/scanner/index.ts";

/** The part of `navigator` that this module uses. */
export interface Agent {
  userAgent: string;
  maxTouchPoints: number;
}

export type Platform = "ios" | "android" | "other";

/** The platform, which decides how staff install the app. An iPad calls itself a Mac, but no Mac has a touch screen. */
export function platformOf({ userAgent, maxTouchPoints }: Agent): Platform {
  if (/iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1)) return "ios";
  return /Android/.test(userAgent) ? "android" : "other";
}

/** A suggested name, which staff may change. `number` makes the names of two devices of one kind different. */
export function offeredName(agent: Agent, number: number): string {
  const names = words.pair.deviceNames;
  if (/iPhone|iPod/.test(agent.userAgent)) return names.iphone(number);
  if (platformOf(agent) === "ios") return names.ipad(number);
  return /Android|Mobi/.test(agent.userAgent) ? names.phone(number) : names.desktop(number);
}

/** Whether the app runs from the home screen and not in a tab of the browser. */
export function isInstalled(): boolean {
  return matchMedia("(display-mode: standalone)").matches || (navigator as { standalone?: boolean }).standalone === true;
}
