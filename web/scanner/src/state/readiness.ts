import type { View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import type { CameraState } from "../camera/camera.ts";
import type { ServerTime } from "./clock.ts";
import { span } from "./format.ts";
import type { Kept } from "./kept.ts";
import { listAge } from "./pill.ts";

/** The text of the sample ticket. The core knows it (`barcode.rs`) and records nothing for it. */
export const SAMPLE_CODE = "admit-sample-ticket";

/** If the list was not compared with the server for this long, the check before doors says `bad`, milliseconds. */
const OLD_MS = 30 * 60_000;
/** The check warns if the phone's clock is off by more than this, milliseconds. Scans have the server's time in any case. */
const CLOCK_MS = 30_000;

export interface CheckRow {
  id: "event" | "camera" | "sound" | "list" | "clock" | "storage" | "files" | "pin";
  state: "ok" | "warn" | "bad";
  title: string;
  text: string;
}

/** The input of the check. */
export interface Looked {
  view: View;
  now: ServerTime;
  camera: CameraState;
  /** Whether the camera has read a code since the app was opened. */
  hasRead: boolean;
  sound: boolean;
  persisted: boolean | null;
  kept: Kept;
}

/** The rows of the check before doors. `warn`: it works with a limit. `bad`: staff must do something first. */
export function readiness({ view, now, camera, hasRead, sound, persisted, kept }: Looked): CheckRow[] {
  const w = words.check;
  return [
    eventRow(view),
    {
      id: "camera",
      state: hasRead ? "ok" : camera === "live" ? "warn" : "bad",
      title: w.camera,
      text: hasRead ? w.cameraSees : camera === "live" ? w.cameraRuns : w.cameraOff,
    },
    { id: "sound", state: sound ? "ok" : "warn", title: w.sound, text: sound ? w.soundOn : w.soundOff },
    listRow(view, now),
    clockRow(view),
    { id: "storage", state: persisted === true ? "ok" : "warn", title: w.storage, text: persisted === true ? w.stored : w.notStored },
    { id: "files", state: kept === "kept" ? "ok" : kept === "never" ? "bad" : "warn", title: w.files, text: kept === "kept" ? w.filesKept : w.filesMissing },
    { id: "pin", state: view.has_pin ? "ok" : "warn", title: w.pin, text: view.has_pin ? w.pinSet : w.pinNone },
  ];
}

function eventRow(view: View): CheckRow {
  const w = words.check;
  if (view.event_status === "live") return { id: "event", state: "ok", title: w.event, text: w.eventLive };
  if (view.event_status === "draft") return { id: "event", state: "warn", title: w.event, text: w.eventDraft };
  return { id: "event", state: "bad", title: w.event, text: w.eventEnded };
}

function listRow(view: View, now: ServerTime): CheckRow {
  const w = words.check;
  if (view.list === null) return { id: "list", state: "bad", title: w.list, text: w.listNone };
  const age = listAge(view.list, now);
  if (age > OLD_MS || view.list.expired) return { id: "list", state: "bad", title: w.list, text: w.listOld(span(age)) };
  return { id: "list", state: "ok", title: w.list, text: age < 60_000 ? w.listNow : w.listFresh(span(age)) };
}

/** Says in a short sentence whether the phone's clock agrees with the server's. */
export function clockRow(view: Pick<View, "clock_offset_ms">): CheckRow {
  const w = words.check;
  const offset = view.clock_offset_ms;
  if (offset === null) return { id: "clock", state: "warn", title: w.clock, text: w.clockUnknown };
  const right = Math.abs(offset) <= CLOCK_MS;
  const seconds = words.format.count(Math.round(Math.abs(offset) / 1000));
  return { id: "clock", state: right ? "ok" : "warn", title: w.clock, text: right ? w.clockRight : w.clockOff(seconds) };
}
