// The two sources of codes: a camera, and a hardware scanner that types.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, film, root, shot, show, until, wedge } from "./harness/index.ts";
import { answered, Doors, history, next, phoneBox, typed } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

test("a film of three tickets lets in three persons, and its second round nobody more", async () => {
  const codes = ["FILM-ONE", "FILM-TWO", "FILM-THREE"];
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const reel = await film(
    "three-tickets",
    codes.flatMap((text) => [{ text, seconds: 1.5 }, { text: null, seconds: 2 }]),
  );
  const phone = await phones.open({ name: "film", film: reel });
  const page = await phone.visit(await doors.link("north"));
  // Collects every verdict from its first frame on.
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { __seen: seen });
    let last = "";
    new MutationObserver(() => {
      const shown = document.querySelector<HTMLElement>('[data-testid="verdict"], [data-testid="strip"]');
      const { screen = "", scanId = "" } = shown?.dataset ?? {};
      const mark = `${screen} ${scanId}`;
      if (shown !== null && mark !== last) seen.push(mark);
      if (shown !== null) last = mark;
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await page.getByTestId("change-name").click();
  await page.getByTestId("device-name").fill("Film");
  await page.getByTestId("pair-submit").click();
  const seen = (): Promise<string[]> => page.evaluate(() => (window as unknown as { __seen: string[] }).__seen);
  await until("the second round", async () => (await seen()).some((mark) => /^(same_ticket|already_in)/.test(mark)), {
    within: 40_000,
  });
  const rows = await history(page);
  const admitted = new Set((await seen()).filter((mark) => mark.startsWith("admit ")));
  expect(admitted.size).toBe(3);
  expect(rows).toHaveLength(3);
  await until("three persons in", async () => (await doors.occupancy()).inside === 3);
  expect(phone.errors).toEqual([]);
}, 90_000);

test("a hardware scanner is read at every speed, on the page and while a field has the focus", async () => {
  const delays = [0, 3, 15, 60];
  const codes = delays.flatMap((delay) => [`WEDGE-BODY-${delay}`, `WEDGE-FIELD-${delay}`]);
  const doors = await Doors.open(admit, codes.map((barcode) => ({ barcode })));
  const phone = await phones.open({ name: "wedge", camera: "none" });
  const page = await doors.pair(phone, "north");
  for (const delay of delays) {
    expect(await typed(page, `WEDGE-BODY-${delay}`, delay)).toBe("admit");
    await next(page);
    await page.getByTestId("more").click();
    const field = page.locator("#operator");
    await field.fill("Ana");
    expect(await answered(page, () => wedge(page, `WEDGE-FIELD-${delay}`, delay))).toBe("admit");
    await next(page);
    // The code was judged. It left no text in the field, and none in the operator's name.
    await page.getByTestId("more").click();
    expect(await field.inputValue()).not.toContain("WEDGE");
    await page.getByTestId("close-sheet").click();
  }
  expect(await page.getByTestId("own-admitted").textContent()).toBe(String(codes.length));
  expect(phone.errors).toEqual([]);
});

test.each(["none", "denied"] as const)("with the camera %s the scanner says so, and a hardware scanner works", async (camera) => {
  const doors = await Doors.open(admit, [{ barcode: "BY-HAND" }]);
  const phone = await phones.open({ name: `camera-${camera}`, camera });
  const page = await doors.pair(phone, "north");
  await page.getByTestId("camera-fault").waitFor();
  expect(await page.getByTestId("camera").getAttribute("data-camera")).toBe(camera);
  await shot(page, `scanner-camera-${camera}`);
  expect(await typed(page, "BY-HAND")).toBe("admit");
  expect(phone.errors).toEqual([]);
});

// The build itself checks the size of the organiser's first page (web/vite/budget.ts).
test("the first load stays small: the scanner's scripts 90 kB", () => {
  const weight = (app: string, ends: string[]): number => {
    const folder = join(root, "web", app, "dist/assets");
    // The script that draws QR codes is loaded only when a code is shown.
    const files = readdirSync(folder).filter((file) => ends.some((end) => file.endsWith(end)) && !file.startsWith("browser-"));
    expect(files.length).toBeGreaterThan(0);
    return files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0);
  };
  expect(weight("scanner", [".js"])).toBeLessThanOrEqual(90_000);
});

test("a camera that stops or stands still is started again by itself, and staff are told", async () => {
  const doors = await Doors.open(admit, [{ barcode: "AFTER-CALL" }, { barcode: "AFTER-FREEZE" }]);
  const phone = await phones.open({ name: "camera-again" });
  // While the canvas camera is frozen, it gives no frames. A camera that is opened again works.
  await phone.context.addInitScript(() => {
    const state = Object.assign(window, { cameraFrozen: false, camerasOpened: 0 });
    const pen = CanvasRenderingContext2D.prototype;
    const fillRect = pen.fillRect;
    pen.fillRect = function (...box) {
      if (!state.cameraFrozen) fillRect.apply(this, box);
    };
    const drawImage = pen.drawImage;
    pen.drawImage = function (this: CanvasRenderingContext2D, ...what: unknown[]) {
      if (!state.cameraFrozen) drawImage.apply(this, what as unknown as Parameters<typeof drawImage>);
    } as typeof drawImage;
    const capture = HTMLCanvasElement.prototype.captureStream;
    HTMLCanvasElement.prototype.captureStream = function (rate) {
      state.cameraFrozen = false;
      state.camerasOpened += 1;
      return capture.call(this, rate);
    };
  });
  const page = await doors.pair(phone, "north");
  const opened = () => page.evaluate(() => (window as unknown as { camerasOpened: number }).camerasOpened);
  const isLive = () => page.locator('[data-testid="camera"][data-camera="live"]').count();
  const told = () => page.getByText("The camera had stopped and was started again.").first().waitFor({ timeout: 30_000 });
  await until("the camera", isLive);
  expect(await opened()).toBe(1);

  // Imitates a call: it takes the picture away, gives it back, and then ends the track.
  const send = (event: string) =>
    page.evaluate((event) => {
      const stream = document.querySelector("video")!.srcObject as MediaStream;
      stream.getVideoTracks()[0]!.dispatchEvent(new Event(event));
    }, event);
  await send("mute");
  await page.getByTestId("camera-fault").filter({ hasText: "No picture from the camera" }).waitFor();
  await shot(page, "scanner-camera-muted");
  await send("unmute");
  await until("the camera again", isLive);
  await send("ended");
  await told();
  await until("the camera again", isLive);
  expect(await opened()).toBe(2);
  await show(page, "AFTER-CALL");
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  await show(page, null);
  await next(page);

  // The camera stands still without any event.
  await page.evaluate(() => Object.assign(window, { cameraFrozen: true }));
  await until("another camera", async () => (await opened()) === 3, { within: 60_000 });
  await told();
  await until("the camera again", isLive);
  await show(page, "AFTER-FREEZE");
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  expect(phone.errors).toEqual([]);
});

test("a code reader that fails at every frame says so, and no longer once it reads again", async () => {
  const doors = await Doors.open(admit, [{ barcode: "AFTER-FAULT" }]);
  const phone = await phones.open({ name: "reader-fault" });
  const page = await doors.pair(phone, "north");
  await until("the camera", () => page.locator('[data-testid="camera"][data-camera="live"]').count());
  const reader = await until("the decoder", () => page.workers().find((worker) => worker.url().includes("decoder")));
  expect(await page.getByTestId("reader-fault").count()).toBe(0);
  // Imitates a browser without memory: reading each frame fails, while the camera's picture goes on.
  await reader.evaluate(() => {
    const drawing = OffscreenCanvasRenderingContext2D.prototype as unknown as { kept: unknown; getImageData: unknown };
    drawing.kept = drawing.getImageData;
    drawing.getImageData = () => {
      throw new RangeError("no memory for the picture");
    };
  });
  const fault = page.getByTestId("reader-fault");
  await fault.waitFor();
  expect(await fault.textContent()).toContain("Codes cannot be read by camera");
  expect(await fault.textContent()).toContain("no memory for the picture");
  await shot(page, "scanner-reader-fault");
  await reader.evaluate(() => {
    const drawing = OffscreenCanvasRenderingContext2D.prototype as unknown as { kept: unknown; getImageData: unknown };
    drawing.getImageData = drawing.kept;
  });
  await fault.waitFor({ state: "detached" });
  await show(page, "AFTER-FAULT");
  await page.locator('[data-testid="verdict"][data-screen="admit"]').waitFor();
  expect(phone.errors).toEqual([]);
});
