import { beforeEach, expect, test, vi } from "vitest";
import { GRACE_MS, type Kept, keepApp, RETRY_MOST_MS, RETRY_MS, UPDATE_MS } from "./kept.ts";

class FakeWorker extends EventTarget {
  state = "installing";
  become(state: string): void {
    this.state = state;
    this.dispatchEvent(new Event("statechange"));
  }
}

class FakeRegistration extends EventTarget {
  installing: FakeWorker | null = new FakeWorker();
  waiting: FakeWorker | null = null;
  active: FakeWorker | null = null;
  update = vi.fn(async () => {});
  /** Ends the worker in the order of browsers: the worker becomes redundant before its registration forgets it. */
  fail(): void {
    const worker = this.installing!;
    worker.become("redundant");
    this.installing = null;
  }
  succeed(): void {
    const worker = this.installing!;
    this.installing = null;
    this.waiting = worker;
    worker.become("installed");
    const older = this.active;
    older?.become("redundant");
    this.waiting = null;
    this.active = worker;
    worker.become("activating");
    worker.become("activated");
  }
}

class FakePage extends EventTarget {
  visibilityState: DocumentVisibilityState = "visible";
  seen(): void {
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

let page: FakePage;
let told: Kept[];
let made: FakeRegistration[];
let answer: () => FakeRegistration;
let register: ReturnType<typeof vi.fn<() => Promise<ServiceWorkerRegistration>>>;

beforeEach(() => {
  vi.useFakeTimers();
  page = new FakePage();
  told = [];
  made = [];
  answer = () => {
    const registration = new FakeRegistration();
    made.push(registration);
    return registration;
  };
  register = vi.fn(async () => answer() as unknown as ServiceWorkerRegistration);
  return () => void vi.useRealTimers();
});

async function start(controlled = false): Promise<void> {
  const host = { register, controlled, window: page, document: page as unknown as Document };
  keepApp(host, (kept) => told.push(kept));
  await vi.advanceTimersByTimeAsync(0);
}

test("a first start that goes well is told without a word of worry, and asks once", async () => {
  await start();
  expect(told).toEqual(["coming"]);
  made[0]!.succeed();
  await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
  page.dispatchEvent(new Event("online"));
  page.seen();
  await vi.advanceTimersByTimeAsync(0);
  expect(told).toEqual(["coming", "kept"]);
  expect(register).toHaveBeenCalledTimes(1);
});

test("an installation that failed is tried again until it holds, ever more seldom; staff are told after a while", async () => {
  await start();
  made[0]!.fail();
  await vi.advanceTimersByTimeAsync(RETRY_MS - 1);
  expect(register).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(register).toHaveBeenCalledTimes(2);
  made[1]!.fail();
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(register).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(register).toHaveBeenCalledTimes(3);
  // No second try begins while a slow one is under way, but staff are told.
  await vi.advanceTimersByTimeAsync(RETRY_MOST_MS);
  expect(register).toHaveBeenCalledTimes(3);
  expect(told).toEqual(["coming", "missing"]);
  made[2]!.succeed();
  expect(told).toEqual(["coming", "missing", "kept"]);
});

test("a phone that could not even ask asks again by itself, when the network returns, and when the page is seen", async () => {
  answer = () => {
    throw new TypeError("no network");
  };
  await start();
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(register).toHaveBeenCalledTimes(2);
  page.dispatchEvent(new Event("online"));
  expect(register).toHaveBeenCalledTimes(3);
  await vi.advanceTimersByTimeAsync(0);
  page.visibilityState = "hidden";
  page.seen();
  expect(register).toHaveBeenCalledTimes(3);
  page.visibilityState = "visible";
  page.seen();
  expect(register).toHaveBeenCalledTimes(4);
  await vi.advanceTimersByTimeAsync(4 * 3_600_000);
  const before = register.mock.calls.length;
  await vi.advanceTimersByTimeAsync(RETRY_MOST_MS);
  expect(register).toHaveBeenCalledTimes(before + 1);
});

test("an app that is kept stays so: a newer build that fails, one that takes over, and a start without a network", async () => {
  const registration = new FakeRegistration();
  registration.succeed();
  answer = () => registration;
  await start(true);
  for (const end of ["fail", "succeed"] as const) {
    registration.installing = new FakeWorker();
    registration.dispatchEvent(new Event("updatefound"));
    registration[end]();
    await vi.advanceTimersByTimeAsync(GRACE_MS);
  }
  expect(told).toEqual(["kept"]);
  expect(register).toHaveBeenCalledTimes(1);
});

test("what is erased in mid-shift is fetched anew", async () => {
  await start();
  made[0]!.succeed();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  made[0]!.active!.become("redundant");
  expect(told.at(-1)).toBe("missing");
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  made[1]!.succeed();
  expect(told.at(-1)).toBe("kept");
});

test("a newer build is asked for when the page is seen, once an hour at most", async () => {
  await start();
  const registration = made[0]!;
  registration.succeed();
  page.seen();
  expect(registration.update).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(UPDATE_MS);
  page.seen();
  page.seen();
  expect(registration.update).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(UPDATE_MS);
  page.visibilityState = "hidden";
  page.seen();
  expect(registration.update).toHaveBeenCalledTimes(1);
});
