// Reading tickets: other kinds of codes by camera, the choice of the camera, hardware scanners with other keyboard layouts.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prepareZXingModule, writeBarcode } from "zxing-wasm/writer";
import type { Format } from "../scanner/src/camera/formats.ts";
import { Admit, hold, shot, until } from "./harness/index.ts";
import { answered, Doors, headline, history, next, phoneBox, syncNow } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

/** Draws a code of this kind, as other systems print it. `options`: those of the library, such as `gs1`. */
async function picture(format: Format, text: string, options = ""): Promise<string> {
  const wasm = readFileSync(createRequire(import.meta.url).resolve("zxing-wasm/writer/zxing_writer.wasm"));
  prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(wasm).buffer } });
  const { image, error } = await writeBarcode(text, { format, scale: 8, addQuietZones: true, options } as never);
  if (image === null) throw new Error(`${format}: ${error}`);
  const bytes = Buffer.from(await image.arrayBuffer());
  return `data:image/png;base64,${bytes.toString("base64")}`;
}
const aztec = (text: string) => picture("Aztec", text);

test("an Aztec ticket is read once its kind is switched on, and after a restart too", async () => {
  const doors = await Doors.open(admit, [{ barcode: "AZTEC-ONE" }, { barcode: "AZTEC-TWO" }]);
  const phone = await phones.open({ name: "aztec" });
  let page = await doors.pair(phone, "north");
  await until("the camera", () => page.locator('[data-camera="live"]').count());
  await hold(page, await aztec("AZTEC-ONE"));
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  await page.getByTestId("format-Aztec").check();
  expect(await answered(page, () => page.getByTestId("close-sheet").click())).toBe("admit");
  await hold(page, null);
  await next(page);
  await page.close();
  page = await phone.visit(`${admit.url}/scan/`);
  await until("the camera", () => page.locator('[data-camera="live"]').count());
  const second = await aztec("AZTEC-TWO");
  expect(await answered(page, () => hold(page, second))).toBe("admit");
  expect(phone.errors).toEqual([]);
});

test("the event's kinds of codes are read on a phone that nobody set up, from when the organiser says so", async () => {
  const doors = await Doors.open(admit, [{ barcode: "EVENT-AZTEC" }], { barcode_kinds: ["data_matrix"] });
  const phone = await phones.open({ name: "kinds" });
  const page = await doors.pair(phone, "north");
  await until("the camera", () => page.locator('[data-camera="live"]').count());
  const kinds = async () => {
    await page.getByTestId("more").click();
    await page.getByTestId("open-settings").click();
    const boxes = page.locator('[data-testid^="format-"]');
    const all = await boxes.evaluateAll((all) => all.map((one) => one as HTMLInputElement).filter((one) => one.checked && one.disabled).map((one) => one.dataset["testid"]));
    await shot(page, "settings-event-kinds");
    await page.getByTestId("close-sheet").click();
    return all;
  };
  expect(await kinds()).toEqual(["format-DataMatrix"]);
  await doors.call("PATCH", `/api/events/${doors.id}`, { barcode_kinds: ["aztec", "ean_13"] });
  await syncNow(page);
  await until("the new list", async () => JSON.stringify(await kinds()) === JSON.stringify(["format-Aztec", "format-EAN13"]));
  const held = await aztec("EVENT-AZTEC");
  expect(await answered(page, () => hold(page, held))).toBe("admit");
  expect(phone.errors).toEqual([]);
});

/** A kind of code, the text in it, and the code of the ticket that it belongs to. */
const PRINTED: [Format, text: string, ticket: string, options?: string][] = [
  ["QRCode", "KIND-QR", "KIND-QR"],
  ["Code128", "0030611-AB", "0030611-AB"],
  ["PDF417", "M1BOTHA/ANA 7F3KQ2", "M1BOTHA/ANA 7F3KQ2"],
  ["Aztec", "KIND-AZTEC", "KIND-AZTEC"],
  ["DataMatrix", "été-2026/0042", "été-2026/0042"],
  ["EAN13", "4006381333931", "4006381333931"],
  ["Codabar", "A40156B", "A40156B"],
  // A GS1 code has brackets in print, but none in the ticket's code.
  ["DataMatrix", "[01]01234567890128[10]DM1", "010123456789012810DM1", "gs1"],
  ["QRCode", "[01]01234567890128[10]QR1", "010123456789012810QR1", "gs1"],
  ["Code128", "[01]01234567890128[10]BAR1", "010123456789012810BAR1", "gs1"],
  // Some wallet apps make codes with a mark of their text encoding.
  ["QRCode", "WALLET-été", "WALLET-été", "eci=UTF-8"],
];

test("a code of each kind, and GS1 codes, held before the camera admit their ticket", async () => {
  const barcode_kinds = ["code_128", "pdf_417", "aztec", "data_matrix", "ean_13", "codabar"];
  const doors = await Doors.open(admit, PRINTED.map(([, , barcode]) => ({ barcode })), { barcode_kinds });
  const phone = await phones.open({ name: "every-kind" });
  const page = await doors.pair(phone, "north");
  await until("the camera", () => page.locator('[data-camera="live"]').count());
  for (const [format, text, ticket, options] of PRINTED) {
    const held = await picture(format, text, options);
    expect(await answered(page, () => hold(page, held)), `${format} ${ticket}`).toBe("admit");
    await hold(page, null);
    await next(page);
  }
  expect(await page.getByTestId("own-admitted").textContent()).toBe(String(PRINTED.length));
  expect(phone.errors).toEqual([]);
});

/** Sends the keys of a hardware scanner with a French layout, on a French computer. */
async function azerty(page: Page, keys: [code: string, key: string, shiftKey: boolean][]): Promise<void> {
  await page.evaluate((keys) => {
    for (const [code, key, shiftKey] of [...keys, ["Enter", "Enter", false] as const]) {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { code, key, shiftKey, bubbles: true, cancelable: true }));
    }
  }, keys);
}

test("a reader set to the computer's own layout finds the ticket, and each code is one scan", async () => {
  const doors = await Doors.open(admit, [{ barcode: "AZ-17" }, { barcode: "AZ-18" }]);
  const phone = await phones.open({ name: "azerty", camera: "none" });
  const page = await doors.pair(phone, "north");
  const code = (digit: number): [string, string, boolean][] => [
    ["KeyQ", "A", true],
    ["KeyW", "Z", true],
    ["Digit6", "-", false],
    ["Digit1", "1", true],
    [`Digit${digit}`, `${digit}`, true],
  ];
  expect(await answered(page, () => azerty(page, code(7)))).toBe("admit");
  expect(await headline(page)).toBe("Admit");
  await next(page);
  expect((await history(page)).length).toBe(1);
  expect(await answered(page, () => azerty(page, code(8)))).toBe("admit");
  await next(page);
  expect((await history(page)).length).toBe(2);
  expect(phone.errors).toEqual([]);
});

test("of two rear cameras the one that is not ultra wide is taken, a person may choose the other, and it is remembered", async () => {
  const doors = await Doors.open(admit, [{ barcode: "LENS-ONE" }]);
  const phone = await phones.open({ name: "lenses" });
  await phone.context.addInitScript(() => {
    const media = navigator.mediaDevices;
    if (!media) return;
    const opened: string[] = [];
    Object.assign(window, { opened });
    const canvas = media.getUserMedia.bind(media);
    // The browser's own choice of a rear camera gives the wrong lens, as on some phones.
    media.getUserMedia = async (wanted) => {
      const { deviceId } = (wanted?.video ?? {}) as { deviceId?: { exact: string } };
      const id = deviceId?.exact ?? "ultra";
      opened.push(id);
      const stream = await canvas(wanted);
      const track = stream.getVideoTracks()[0]!;
      track.getSettings = () => ({ deviceId: id });
      return stream;
    };
    const labels: Record<string, string> = { ultra: "Back Ultra Wide Camera", main: "Back Camera", front: "Front Camera" };
    media.enumerateDevices = async () =>
      Object.entries(labels).map(([deviceId, label]) => ({ deviceId, label, groupId: "", kind: "videoinput" as const, toJSON: () => ({}) }));
  });
  let page = await doors.pair(phone, "north");
  const opened = () => page.evaluate(() => (window as unknown as { opened: string[] }).opened);
  await until("the better camera", async () => (await opened()).at(-1) === "main");
  await page.getByTestId("more").click();
  await page.getByTestId("open-settings").click();
  expect(await page.getByTestId("camera-choice").locator("option").allTextContents()).toEqual([
    "Best for tickets (automatic)",
    "Back Camera",
    "Front Camera",
    "Back Ultra Wide Camera",
  ]);
  await page.getByTestId("camera-choice").selectOption("front");
  await until("the chosen camera", async () => (await opened()).at(-1) === "front");
  await page.close();
  page = await phone.visit(`${admit.url}/scan/`);
  await until("the camera", () => page.locator('[data-camera="live"]').count());
  expect(await opened()).toEqual(["front"]);
  expect(phone.errors).toEqual([]);
});
