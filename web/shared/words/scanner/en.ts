/**
 * The texts of the scanner in English, with a section for each screen. A text that contains numbers, names or times is a
 * function of them. The messages of the core (`message` in its effects and views) are not here, because they come from Rust.
 * Messages of the browser are not here either.
 */
export * as app from "./en/app.ts";
export * as booking from "./en/booking.ts";
export * as camera from "./en/camera.ts";
export * as check from "./en/check.ts";
export * as count from "./en/count.ts";
export * as fault from "./en/fault.ts";
export * as firstSync from "./en/first-sync.ts";
export * as format from "./en/format.ts";
export * as gate from "./en/gate.ts";
export * as guard from "./en/guard.ts";
export * as headcount from "./en/headcount.ts";
export * as history from "./en/history.ts";
export * as more from "./en/more.ts";
export * as otherTab from "./en/other-tab.ts";
export * as override from "./en/override.ts";
export * as ownCode from "./en/own-code.ts";
export * as pair from "./en/pair.ts";
export * as pill from "./en/pill.ts";
export * as scan from "./en/scan.ts";
export * as search from "./en/search.ts";
export * as settings from "./en/settings.ts";
export * as sync from "./en/sync.ts";
export * as titles from "./en/titles.ts";
export * as undo from "./en/undo.ts";
export * as verdict from "./en/verdict.ts";
export * as walkIn from "./en/walk-in.ts";
