import { expect, test } from "vitest";
import { bestCamera, type CameraKind } from "./choice.ts";

const cameras = (...labels: string[]): CameraKind[] => labels.map((label, at) => ({ id: `${at}`, label }));
const best = (...labels: string[]) => bestCamera(cameras(...labels))?.label;

test.each([
  ["iPhone with three lenses", ["Front Camera", "Back Ultra Wide Camera", "Back Telephoto Camera", "Back Camera", "Back Triple Camera"], "Back Triple Camera"],
  ["iPhone with two", ["Back Ultra Wide Camera", "Back Camera", "Front Camera"], "Back Camera"],
  ["Android, whose first rear camera is the main one", ["camera2 1, facing front", "camera2 3, facing back", "camera2 2, facing back", "camera2 0, facing back"], "camera2 0, facing back"],
  ["Android that says how wide a lens is", ["Rear 0.5x", "Rear 1x", "Front"], "Rear 1x"],
  ["a laptop", ["Integrated Camera"], "Integrated Camera"],
  ["a laptop with an infrared camera", ["Integrated IR Camera", "Integrated Camera"], "Integrated Camera"],
  ["a phone with nothing but a front camera", ["Front Camera"], "Front Camera"],
])("%s", (_, labels, wanted) => {
  expect(best(...labels)).toBe(wanted);
});

test("a rear camera that focuses by itself, and near, is taken before one with a fixed focus", () => {
  const fixed = { id: "0", label: "camera2 0, facing back", abilities: { focusMode: ["manual"] } };
  const far = { id: "2", label: "camera2 2, facing back", abilities: { focusMode: ["continuous"], focusDistance: { min: 0.6 } } };
  const near = { id: "3", label: "camera2 3, facing back", abilities: { focusMode: ["continuous"], focusDistance: { min: 0.08 } } };
  expect(bestCamera([fixed, far, near])?.id).toBe("3");
  expect(bestCamera([fixed, far])?.id).toBe("2");
});

test("no camera is no choice, and of equals the system's first is taken", () => {
  expect(bestCamera([])).toBeNull();
  expect(bestCamera(cameras("", ""))?.id).toBe("0");
});
