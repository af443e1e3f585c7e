import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { folder } from "./places.ts";
import { qrDataUrl, qrPng } from "./qr.ts";

/**
 * The way B to replace the camera: by a canvas. It needs neither a film nor flags of the browser, and a test can change the code in
 * view at any time. Call this before the first page opens, and then `show` a code.
 */
export async function canvasCamera(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    // Only secure pages have cameras. The empty page at a tab's start is not secure.
    if (!navigator.mediaDevices) return;
    const canvas = document.createElement("canvas");
    canvas.width = 1280;
    canvas.height = 720;
    const pen = canvas.getContext("2d");
    let picture: HTMLImageElement | null = null;
    setInterval(() => {
      if (!pen) return;
      pen.fillStyle = "#606060";
      pen.fillRect(0, 0, 1280, 720);
      if (picture) pen.drawImage(picture, 400, 120, 480, 480);
    }, 33);
    Object.assign(window, {
      __showCode: async (url: string | null) => {
        if (url === null) {
          picture = null;
          return;
        }
        const next = new Image();
        next.src = url;
        await next.decode();
        picture = next;
      },
    });
    navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(30);
    navigator.mediaDevices.enumerateDevices = async () => [
      {
        deviceId: "canvas",
        groupId: "canvas",
        kind: "videoinput",
        label: "canvas, back",
        toJSON() {
          return { ...this };
        },
      },
    ];
  });
}

/** Shows a code to the canvas camera. `null` removes it. */
export async function show(page: Page, text: string | null): Promise<void> {
  await hold(page, text === null ? null : await qrDataUrl(text));
}

/** Shows a picture to the canvas camera, by its address (`data:image/png;…`). */
export async function hold(page: Page, url: string | null): Promise<void> {
  await page.evaluate(
    (picture) => (window as unknown as { __showCode(url: string | null): Promise<void> }).__showCode(picture),
    url,
  );
}

/** One code of a film, and how long it is shown. */
export interface Shot {
  /** `null` is an empty wall. */
  text: string | null;
  /** In seconds, such as `1.5`. */
  seconds: number;
}

/**
 * The way A to replace the camera: the browser plays a film as its camera, again and again. Give the path to `Phone` as `film`. The
 * browser plays 30 frames a second, whatever the film's header says.
 */
export async function film(name: string, shots: readonly Shot[]): Promise<string> {
  const place = folder("e2e/films");
  const inputs: string[] = [];
  const filters: string[] = [];
  const grey = "color=c=0x606060:s=1280x720:r=30";
  const same = "setsar=1,format=yuvj420p";
  for (const [index, shot] of shots.entries()) {
    const seconds = shot.seconds.toFixed(2);
    if (shot.text === null) {
      inputs.push("-f", "lavfi", "-t", seconds, "-i", grey);
      filters.push(`[${index}]${same}[s${index}]`);
    } else {
      const picture = join(place, `${name}-${index}.png`);
      writeFileSync(picture, await qrPng(shot.text));
      inputs.push("-loop", "1", "-framerate", "30", "-t", seconds, "-i", picture);
      filters.push(`[${index}]pad=1280:720:(ow-iw)/2:(oh-ih)/2:color=0x606060,${same}[s${index}]`);
    }
  }
  const joined = shots.map((_, index) => `[s${index}]`).join("");
  const out = join(place, `${name}.mjpeg`);
  execFileSync(
    "ffmpeg",
    ["-y", "-loglevel", "error", ...inputs]
      .concat("-filter_complex", `${filters.join(";")};${joined}concat=n=${shots.length}[o]`, "-map", "[o]")
      .concat("-c:v", "mjpeg", "-q:v", "3", "-f", "mjpeg", out),
  );
  return out;
}
