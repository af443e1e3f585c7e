import { words } from "../../../shared/words/scanner/index.ts";

/** As much of the browser as this needs. */
export interface Agent {
  userAgent: string;
  maxTouchPoints: number;
}

export type Platform = "ios" | "android" | "other";

/** What installs apps here in its own manner. An iPad says it is a Mac; no Mac has a touch screen. */
export function platformOf({ userAgent, maxTouchPoints }: Agent): Platform {
  if (/iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1)) return "ios";
  return /Android/.test(userAgent) ? "android" : "other";
}

/** A name to begin with; staff may change it. `number` tells two of a kind apart. */
export function offeredName(agent: Agent, number: number): string {
  const names = words.pair.deviceNames;
  if (/iPhone|iPod/.test(agent.userAgent)) return names.iphone(number);
  if (platformOf(agent) === "ios") return names.ipad(number);
  return /Android|Mobi/.test(agent.userAgent) ? names.phone(number) : names.desktop(number);
}

/** The app runs from the home screen, not in a tab of the browser. */
export function isInstalled(): boolean {
  return matchMedia("(display-mode: standalone)").matches || (navigator as { standalone?: boolean }).standalone === true;
}
