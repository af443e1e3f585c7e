import { expect, test } from "vitest";
import { offeredName, platformOf } from "./device.ts";

test.each([
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X)", 5, "ios", "iPhone 42"],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", 5, "ios", "iPad 42"],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", 0, "other", "Computer 42"],
  ["Mozilla/5.0 (Linux; Android 15; Pixel 8) Mobile", 5, "android", "Phone 42"],
  ["Mozilla/5.0 (X11; Linux x86_64)", 0, "other", "Computer 42"],
] as const)("%s with %i touches is %s and is offered the name %s", (userAgent, maxTouchPoints, platform, name) => {
  expect(platformOf({ userAgent, maxTouchPoints })).toBe(platform);
  expect(offeredName({ userAgent, maxTouchPoints }, 42)).toBe(name);
});
