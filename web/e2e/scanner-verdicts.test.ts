// The scanner's verdict on each kind of ticket, and the server's counts at the end.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, show, shot, until, wedge } from "./harness/index.ts";
import { answered, Doors, headline, history, hours, next, phoneBox, PIN, shownScan, synced, syncNow, typed, undo } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start({ env: { ADMIT_SYNCS_PER_MINUTE: "1000" } });
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

test("every kind of ticket gets its own verdict, and the server counts what was let in", async () => {
  const doors = await Doors.open(admit, [
    { barcode: "ADMIT-ONE" },
    { barcode: "PARTY-FOUR", entry_limit: 4 },
    { barcode: "VOIDED-ONE" },
    { barcode: "SOUTH-ONLY", gate_ids: ["south"] },
    { barcode: "EXPIRED-ONE", expires_at: hours(-0.5) },
    { barcode: "NORTH-ONLY", gate_ids: ["north"] },
    { barcode: "TOMORROW-ONE", valid_from: hours(24) },
  ]);
  await doors.change("VOIDED-ONE", { status: "voided" });

  const [phone, other] = [await phones.open({ name: "north" }), await phones.open({ name: "south" })];
  const page = await doors.pair(phone, "north");
  const pageB = await doors.pair(other, "south");

  expect(await answered(page, () => show(page, "ADMIT-ONE"))).toBe("admit");
  expect(await headline(page)).toBe("Admit");
  await shot(page, "verdict-admit");
  await show(page, null);
  await next(page);

  // Two persons of a party of four enter now, and two later.
  expect(await answered(page, () => show(page, "PARTY-FOUR"))).toBe("admit_party");
  expect(await headline(page)).toBe("How many?");
  expect(await page.getByTestId("party").textContent()).toBe("4 left");
  expect(await page.getByTestId("provisional").count(), "nobody answered it yet").toBe(0);
  await shot(page, "verdict-party");
  await page.getByTestId("count-2").click();
  await until("the answer", async () => (await page.getByTestId("party").textContent()) === "2 of 4");
  expect(await page.getByTestId("verdict").getAttribute("data-screen")).toBe("admit");
  expect(await headline(page)).toBe("Admit 2");
  await show(page, null);
  await next(page);
  expect(await typed(page, "PARTY-FOUR")).toBe("admit_party");
  expect(await page.getByTestId("party").textContent()).toBe("2 left");
  await page.getByTestId("count-all").click();
  await until("the answer", async () => (await page.getByTestId("party").textContent()) === "4 of 4");
  await next(page);

  for (const [code, screen, says] of [
    ["VOIDED-ONE", "refuse", "Do not admit"],
    ["SOUTH-ONLY", "wrong_place", "Wrong gate: go to South"],
    ["EXPIRED-ONE", "wrong_time", "Too late"],
    ["TOMORROW-ONE", "wrong_time", "Too early"],
    ["NOBODY-KNOWS-THIS", "not_in_list", "Unknown ticket"],
    ["X".repeat(513), "not_a_ticket", "Not one of our codes"],
  ] as const) {
    expect(await typed(page, code), code.slice(0, 20)).toBe(screen);
    expect(await headline(page)).toBe(says);
    await shot(page, `verdict-${screen}`);
    await next(page);
  }

  // The other phone learns of the first one's entry from the server, and refuses the ticket itself. Changes arrive in order.
  // So when it knows of a ticket that was cancelled after that entry, it knows the entry too.
  await syncNow(page);
  await synced(page);
  await doors.change("NORTH-ONLY", { status: "voided" });
  await syncNow(pageB);
  await until("the other phone to have heard of it", async () => {
    const screen = await typed(pageB, "NORTH-ONLY");
    await next(pageB);
    return screen === "refuse";
  });
  expect(await typed(pageB, "SOUTH-ONLY")).toBe("admit");
  await next(pageB);
  expect(await typed(pageB, "ADMIT-ONE")).toBe("already_in");
  expect(await headline(pageB)).toBe("Already in");
  expect(await pageB.getByTestId("verdict").textContent()).toContain("North");
  await shot(pageB, "verdict-already_in");

  await synced(pageB);
  await until("six persons at the server", async () => (await doors.occupancy()).inside === 6);
  expect(await doors.occupancy()).toMatchObject({ inside: 6, inside_over: 0, entered: 6, exited: 0 });
  expect([...phone.errors, ...other.errors]).toEqual([]);
});

test("a refusal is set aside with the staff PIN only, Undo takes it back, and the way out counts down", async () => {
  const doors = await Doors.open(admit, [{ barcode: "EXPIRED-TWO", expires_at: hours(-0.5) }, { barcode: "GOES-HOME" }]);
  const phone = await phones.open({ name: "staff" });
  const page = await doors.pair(phone, "north");

  expect(await typed(page, "EXPIRED-TWO")).toBe("wrong_time");
  await page.getByTestId("override").click();
  await page.getByTestId("override-by").fill("Ana");
  await page.getByTestId("reason-0").check();
  await page.getByTestId("pin").fill("0000");
  await page.getByTestId("override-submit").click();
  await until("the wrong PIN to be told", async () => /Wrong PIN/.test((await page.getByTestId("pin-problem").textContent()) ?? ""));
  expect(await page.getByTestId("verdict").getAttribute("data-screen")).toBe("wrong_time");
  await shot(page, "sheet-override");
  await page.getByTestId("pin").fill(PIN);
  expect(await answered(page, () => page.getByTestId("override-submit").click())).toBe("admit");
  expect(await page.getByTestId("verdict").textContent()).toContain("Let in by staff");

  await next(page);
  await syncNow(page);
  await synced(page);
  await until("one person in", async () => (await doors.occupancy()).inside === 1);
  await undo(page);
  await shot(page, "scanner-undone");
  await syncNow(page);
  await until("nobody in", async () => (await doors.occupancy()).inside === 0);

  expect(await typed(page, "GOES-HOME")).toBe("admit");
  await next(page);
  await syncNow(page);
  await synced(page);
  await until("one person in", async () => (await doors.occupancy()).inside === 1);
  const exit = await phones.open({ name: "exit" });
  const out = await doors.pair(exit, "way-out");
  expect(await out.getByTestId("direction").textContent()).toBe("Out");
  expect(await typed(out, "GOES-HOME")).toBe("exit");
  expect(await headline(out)).toBe("Exit recorded");
  await shot(out, "verdict-exit");
  await next(out);
  await syncNow(out);
  await until("nobody in", async () => (await doors.occupancy()).inside === 0);
  expect((await doors.occupancy()).exited).toBe(1);
  // On the server, the refused scan, its override and the undo are three scans.
  const kept = (await doors.scans()).map((scan) => scan.scan_id);
  for (const row of await history(page)) expect(kept).toContain(row.id);
  expect([...phone.errors, ...exit.errors]).toEqual([]);
});

/** Taps this button as soon as a verdict shows it. Gives whether the button was marked as disabled. */
async function tappedAtOnce(page: Page, id: string, act: () => Promise<unknown>): Promise<boolean> {
  await page.evaluate((id) => {
    const before = document.querySelector('[data-testid="verdict"]');
    const seen = Object.assign(window, { tapped: null as boolean | null });
    new MutationObserver((_, observer) => {
      const verdict = document.querySelector('[data-testid="verdict"]');
      const button = verdict?.querySelector<HTMLElement>(`[data-testid="${id}"]`);
      if (verdict === before || !button) return;
      observer.disconnect();
      seen.tapped = button.closest('[aria-disabled="true"]') !== null;
      button.click();
    }).observe(document.body, { subtree: true, childList: true });
  }, id);
  await act();
  const tapped = () => page.evaluate(() => (window as unknown as { tapped: boolean | null }).tapped);
  await until("the tap", async () => (await tapped()) !== null);
  return (await tapped()) === true;
}

test("a tap on its way to a button of the last verdict does nothing to the one that took its place", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TAP-ONE" }, { barcode: "TAP-TWO" }, { barcode: "TAP-PARTY", entry_limit: 4 }]);
  await doors.change("TAP-ONE", { status: "voided" });
  await doors.change("TAP-TWO", { status: "voided" });
  const phone = await phones.open({ name: "tap", camera: "none" });
  const page = await doors.pair(phone, "north");
  // Offline, no receipt is written while the next code comes. Otherwise the code would wait for it and be declined.
  await phone.context.setOffline(true);
  expect(await typed(page, "TAP-ONE")).toBe("refuse");
  const first = await shownScan(page);
  expect(await tappedAtOnce(page, "next", () => wedge(page, "TAP-TWO"))).toBe(true);
  expect(await shownScan(page)).not.toBe(first);
  expect(await page.getByTestId("notice").textContent()).toBe("The verdict has changed. Look, then tap again.");
  expect(await tappedAtOnce(page, "count-all", () => wedge(page, "TAP-PARTY"))).toBe(true);
  expect(await headline(page)).toBe("How many?");
  await page.getByTestId("count-2").click();
  await until("the answer", async () => (await headline(page)) === "Admit 2");
  await next(page);
  expect(phone.errors).toEqual([]);
});

test("a repeated ticket is told in sight: no other guest's verdict stands before it", async () => {
  const doors = await Doors.open(admit, [{ barcode: "TWICE-ONE" }, { barcode: "TWICE-VOID" }]);
  await doors.change("TWICE-VOID", { status: "voided" });
  const phone = await phones.open({ name: "twice", camera: "none" });
  const page = await doors.pair(phone, "north");
  await phone.context.setOffline(true);
  expect(await typed(page, "TWICE-ONE")).toBe("admit");
  await next(page);
  expect(await typed(page, "TWICE-VOID")).toBe("refuse");
  expect(await typed(page, "TWICE-ONE")).toBe("same_ticket");
  expect(await page.getByTestId("verdict").count()).toBe(0);
  expect(await page.getByTestId("strip").textContent()).toContain("Same ticket");
  await shot(page, "scanner-same-ticket");
  expect(phone.errors).toEqual([]);
});
