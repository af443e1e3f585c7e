import { expect, test } from "vitest";
import { Presence } from "./presence.ts";

/** Shows `text` in a frame every 50 ms from `from` to `to`. Gives the times at which the code was offered. */
function hold(presence: Presence, text: string, from: number, to: number): number[] {
  const offered: number[] = [];
  for (let now = from; now <= to; now += 50) {
    if (presence.see([text], now).kind === "code") {
      offered.push(now);
      presence.verdict(text, now + 10);
    }
  }
  return offered;
}

test("a ticket held for ten seconds is offered once", () => {
  expect(hold(new Presence(), "A", 0, 10_000)).toEqual([0]);
});

test("a ticket that flickers is still the same showing", () => {
  const presence = new Presence();
  expect(presence.see(["A"], 0).kind).toBe("code");
  presence.verdict("A", 20);
  for (let now = 50; now < 20_000; now += 1150) {
    presence.see([], now - 20);
    expect(presence.see(["A"], now).kind).toBe("nothing");
  }
});

test("it is offered again once it was out of view for 1.2 s and 3 s have passed since its verdict", () => {
  const soon = new Presence();
  hold(soon, "A", 0, 100);
  expect(soon.see(["A"], 1500).kind, "out of view long enough, but its verdict is 1.5 s old").toBe("nothing");
  const later = new Presence();
  hold(later, "A", 0, 2000);
  expect(later.see(["A"], 3100).kind, "its verdict is old enough, but it was in view 1.1 s ago").toBe("nothing");
  expect(later.see(["A"], 4300).kind).toBe("code");
});

test("the three seconds run from the verdict, not from the reading", () => {
  const presence = new Presence();
  presence.see(["A"], 0);
  presence.verdict("A", 2000);
  expect(presence.see(["A"], 4000).kind).toBe("nothing");
  expect(presence.see(["A"], 5300).kind).toBe("code");
});

test("another ticket is offered at once", () => {
  const presence = new Presence();
  hold(presence, "A", 0, 500);
  expect(presence.see(["B"], 550)).toEqual({ kind: "code", text: "B" });
});

test("two tickets in view: neither is offered, and one that had its verdict gets no second", () => {
  const presence = new Presence();
  hold(presence, "A", 0, 500);
  for (let now = 550; now < 6000; now += 50) expect(presence.see(["A", "B"], now).kind).toBe("crowd");
  expect(presence.see(["B"], 6100).kind, "a frame that missed the other one").toBe("nothing");
  expect(hold(presence, "A", 6150, 8000), "A was in view all the time").toEqual([]);
  expect(presence.see(["B"], 8050)).toEqual({ kind: "code", text: "B" });
});

test("the same code twice in one picture is one ticket", () => {
  expect(new Presence().see(["A", "A"], 0)).toEqual({ kind: "code", text: "A" });
});

test("what the engine declined is offered again at once", () => {
  const presence = new Presence();
  presence.see(["A"], 0);
  presence.declined("A");
  expect(presence.see(["A"], 33).kind).toBe("code");
});
