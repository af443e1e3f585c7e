import { beforeEach, expect, test, vi } from "vitest";
import { TOLD_AFTER } from "./failures.ts";
import type { FromDecoder, ToDecoder } from "./messages.ts";

const readBarcodes = vi.hoisted(() => vi.fn(async (): Promise<unknown[]> => []));
vi.mock("zxing-wasm/reader", () => ({ prepareZXingModule: async () => ({}), readBarcodes }));
vi.mock("zxing-wasm/reader/zxing_reader.wasm?url", () => ({ default: "reader.wasm" }));

let posted: FromDecoder[];
let page: { postMessage(message: FromDecoder): void; onmessage: (event: { data: ToDecoder }) => void };
const said = (kind: FromDecoder["kind"]) => posted.filter((message) => message.kind === kind);

beforeEach(async () => {
  posted = [];
  page = { postMessage: (message) => posted.push(message), onmessage: () => {} };
  readBarcodes.mockReset();
  readBarcodes.mockResolvedValue([]);
  vi.stubGlobal("self", page);
  vi.stubGlobal(
    "OffscreenCanvas",
    class {
      getContext = () => ({ drawImage() {}, getImageData: () => ({}) });
    },
  );
  vi.resetModules();
  await import("./decoder.worker.ts");
});

async function frames(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const done = said("done").length;
    page.onmessage({ data: { kind: "frame", frame: { width: 640, height: 480, close() {} } as ImageBitmap } });
    await vi.waitFor(() => expect(said("done")).toHaveLength(done + 1), { interval: 1 });
  }
}

test("a browser without a drawing surface for workers is told at the first frame, and once", async () => {
  vi.stubGlobal("OffscreenCanvas", undefined);
  await frames(3);
  expect(said("fault")).toEqual([{ kind: "fault", fault: { reason: "no_surface", error: "" } }]);
});

test("a reader that fails at every frame is told, and so is its recovery; each frame is answered", async () => {
  readBarcodes.mockRejectedValue(new WebAssembly.RuntimeError("Aborted()"));
  await frames(TOLD_AFTER - 1);
  expect(said("fault")).toEqual([]);
  await frames(1);
  expect(said("fault")).toEqual([{ kind: "fault", fault: { reason: "failing", error: expect.stringContaining("Aborted()") } }]);
  expect(said("reads")).toEqual([]);
  readBarcodes.mockResolvedValue([]);
  await frames(2);
  expect(said("reads")).toHaveLength(1);
});
