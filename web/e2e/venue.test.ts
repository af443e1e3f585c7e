// A venue without an internet: a laptop with its own certificate, two phones and a terminal scanner. Each is in a network
// namespace of its own behind one switch. Then the laptop's data moves to PostgreSQL, and nothing has changed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { isRoot } from "./harness/beside.ts";
import { admitBinary } from "./harness/admit.ts";
import { freshFolder } from "./harness/places.ts";
import { Postgres, until } from "./harness/index.ts";
import { ready, typed } from "./scanner-kit.ts";

const LAPTOP = "10.77.0.1";
const PORT = 8443;
const URL = `https://${LAPTOP}:${PORT}`;
/** A name for a namespace. All processes of the machine share the names, so it contains this process's id. */
const own = (name: string): string => `adm${process.pid}-${name}`;
const NETWORKS = { laptop: LAPTOP, a: "10.77.0.11", b: "10.77.0.12", gate: "10.77.0.13" } as const;
type Place = keyof typeof NETWORKS;

const ip = (...args: string[]): string => execFileSync("ip", args, { encoding: "utf8", stdio: "pipe" });
/** The arguments of `ip` that run a program in a place's network. */
const within = (place: Place, ...command: string[]): string[] => ["netns", "exec", own(place), ...command];
/** Whether this machine lets a test make networks and add a certificate authority to a browser. */
function mayTry(): boolean {
  if (!isRoot || !process.env["ADMIT_LONG"]) return false;
  try {
    execFileSync("certutil", ["-H"], { stdio: "ignore" });
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return false;
  }
  try {
    ip("netns", "add", own("try"));
    ip("netns", "del", own("try"));
    return true;
  } catch {
    return false;
  }
}

/** Makes a switch (a bridge) with a cable to each place. There is no route to the internet. */
function build(): void {
  ip("netns", "add", own("switch"));
  const inSwitch = (...args: string[]) => ip("netns", "exec", own("switch"), "ip", ...args);
  inSwitch("link", "add", "lan", "type", "bridge");
  inSwitch("link", "set", "lan", "up");
  for (const [place, address] of Object.entries(NETWORKS)) {
    ip("netns", "add", own(place));
    inSwitch("link", "add", `to-${place}`, "type", "veth", "peer", "name", "eth0", "netns", own(place));
    inSwitch("link", "set", `to-${place}`, "master", "lan", "up");
    for (const args of [["addr", "add", `${address}/24`, "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]]) {
      ip(...within(place as Place, "ip", ...args));
    }
  }
}
/** Unplugs the cables of these places, or plugs them in again. */
function cables(state: "up" | "down", ...places: Place[]): void {
  for (const place of places) ip("netns", "exec", own("switch"), "ip", "link", "set", `to-${place}`, state);
}
const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  for (const place of [...Object.keys(NETWORKS), "switch"]) {
    try {
      ip("netns", "del", own(place));
    } catch {
      // It was not made.
    }
  }
});

const folder = (): string => freshFolder("venue");
/** Starts the server in the laptop's network. `stop` ends it. */
async function server(args: string[], env: Record<string, string>): Promise<{ told: () => Promise<string>; stop: () => Promise<void> }> {
  const said: string[] = [];
  const child = spawn("ip", within("laptop", admitBinary(), ...args), { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  const stop = () => stopped(child);
  ends.push(stop);
  await until("the laptop's server", () => curl("-sf", "-o", "/dev/null", "-k", `${URL}/readyz`) !== null, { within: 120_000, every: 250 });
  return { told: () => until("its line", () => said.find((line) => line.startsWith("{"))), stop };
}
async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await gone;
}
/** Runs curl in the laptop's network. Gives its output, or null if it failed. */
function curl(...args: string[]): string | null {
  try {
    return execFileSync("ip", within("laptop", "curl", "--max-time", "20", ...args), { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch {
    return null;
  }
}

/** The organiser's API, by a token. It trusts only the laptop's own certificate authority. */
class Office {
  constructor(
    private readonly authority: string,
    private readonly token: string,
  ) {}
  text(method: string, path: string, body?: unknown): string {
    const json = body === undefined ? [] : ["-H", "content-type: application/json", "-d", JSON.stringify(body)];
    const out = curl("-s", "--fail-with-body", "--cacert", this.authority, "-X", method, "-H", `authorization: Bearer ${this.token}`, ...json, `${URL}${path}`);
    if (out === null) throw new Error(`${method} ${path} failed`);
    return out;
  }
  call<T>(method: string, path: string, body?: unknown): T {
    const out = this.text(method, path, body);
    return (out === "" ? undefined : JSON.parse(out)) as T;
  }
}

/** Starts a browser in a place's network. Its user trusts the laptop's certificate authority, as the page `/trust` explains. */
async function phone(place: Place, authority: string): Promise<BrowserContext> {
  const home = folder();
  const store = join(home, ".pki/nssdb");
  mkdirSync(store, { recursive: true });
  execFileSync("certutil", ["-d", `sql:${store}`, "-N", "--empty-password"]);
  execFileSync("certutil", ["-d", `sql:${store}`, "-A", "-a", "-n", "laptop", "-t", "C,,", "-i", authority]);
  const program = join(home, "browser");
  writeFileSync(program, `#!/bin/sh\nHOME=${home} exec ip netns exec ${own(place)} ${process.env["CHROMIUM"] ?? "/usr/bin/chromium"} "$@"\n`);
  chmodSync(program, 0o755);
  const context = await chromium.launchPersistentContext(join(home, "profile"), {
    executablePath: program,
    headless: true,
    viewport: { width: 390, height: 780 },
    args: ["--no-sandbox", "--disable-gpu", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"],
    permissions: ["camera"],
  });
  ends.push(() => context.close().catch(() => {}));
  context.setDefaultTimeout(30_000);
  return context;
}
async function paired(context: BrowserContext, link: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(link);
  await page.getByTestId("pair-submit").click();
  await ready(page);
  return page;
}

/** Runs `admit scan` in the gate's network. `scan` gives the verdict on a code. */
function turnstile(link: string, authority: string): { scan: (code: string) => Promise<string>; stop: () => Promise<void> } {
  const journal = join(folder(), "gate.journal");
  const args = within("gate", admitBinary(), "scan", "--json", "--journal", journal, "--pair", link, "--name", "Turnstile");
  const child = spawn("ip", args, { env: { ...process.env, SSL_CERT_FILE: authority }, stdio: ["pipe", "pipe", "ignore"] });
  const verdicts: { verdict: string }[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => verdicts.push(JSON.parse(line) as { verdict: string }));
  const stop = async () => {
    if (child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.stdin.end();
    await gone;
  };
  ends.push(() => stopped(child));
  const scan = async (code: string) => {
    const before = verdicts.length;
    child.stdin.write(`${code}\n`);
    await until(`a verdict about ${code}`, () => verdicts.length > before, { within: 60_000 });
    return verdicts[before]?.verdict ?? "";
  };
  return { scan, stop };
}

/** Converts a certificate from DER, which phones download, to PEM. */
const pem = (der: Buffer): string => `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replaceAll(/(.{64})/g, "$1\n")}\n-----END CERTIFICATE-----\n`;

/** All data of the event that the organiser's API gives. */
function stands(office: Office, event: string): Record<string, unknown> {
  const occupancy = office.call<Record<string, unknown>>("GET", `/api/events/${event}/occupancy`);
  const { items } = office.call<{ items: { scan_id: string }[] }>("GET", `/api/events/${event}/scans?limit=200`);
  const incidents = office.call<{ items: unknown[] }>("GET", `/api/events/${event}/incidents?limit=200`).items;
  const { items: tickets } = office.call<{ items: unknown[] }>("GET", `/api/events/${event}/tickets?limit=200`);
  return { occupancy, scans: items, incidents, tickets };
}

test.runIf(mayTry())("a venue without an internet scans, and moves its data to PostgreSQL", async () => {
  build();
  const data = join(folder(), "data");
  const laptop = await server(["demo", "--json", "--lan", "--port", String(PORT), "--data-dir", data], {});
  const { api_token } = JSON.parse(await laptop.told()) as { api_token: string };
  // People download the certificate to their phones over plain HTTP.
  const authority = join(folder(), "laptop.pem");
  const certificate = `${authority}.der`;
  curl("-sf", "-o", certificate, `http://${LAPTOP}:${PORT}/local-ca.crt`);
  writeFileSync(authority, pem(readFileSync(certificate)));
  const office = new Office(authority, api_token);
  const hours = (from: number) => new Date(Date.now() + from * 3_600_000).toISOString();
  const { id } = office.call<{ id: string }>("POST", "/api/events", { name: "Venue", starts_at: hours(-1), ends_at: hours(8), status: "live", gates: [] });
  for (const gate of ["north", "south", "turnstile"]) office.call("POST", `/api/events/${id}/gates`, { id: gate, name: gate, direction: "in" });
  const code = (n: number): string => `VENUE-${String(n).padStart(2, "0")}`;
  office.call("POST", `/api/events/${id}/tickets`, Array.from({ length: 30 }, (_, n) => ({ barcode: code(n + 1) })));
  const link = (gate: string) => office.call<{ url: string }>("POST", `/api/events/${id}/pairing-tokens`, { gate_id: gate }).url;

  const north = await paired(await phone("a", authority), link("north"));
  const south = await paired(await phone("b", authority), link("south"));
  const gate = turnstile(link("turnstile"), authority);
  expect(await typed(north, code(1))).toBe("admit");
  expect(await typed(south, code(2))).toBe("admit");
  expect(await gate.scan(code(3))).toBe("admit");

  // The switch fails. All devices go on, and two let the same ticket in.
  cables("down", "a", "b", "gate");
  expect(await typed(north, code(4))).toBe("admit");
  expect(await typed(south, code(4))).toBe("admit");
  expect(await typed(south, code(5))).toBe("admit");
  expect(await gate.scan(code(5))).toBe("admit");
  expect(await gate.scan(code(6))).toBe("admit");
  expect(await gate.scan(code(6)), "the same guest still stands there").toBe("same");
  cables("up", "a", "b", "gate");
  const persons = () => office.call<{ entered: number; inside_over: number }>("GET", `/api/events/${id}/occupancy`);
  await until("everything at the laptop", () => persons().entered === 6 && persons().inside_over === 2, { within: 90_000, every: 500 });

  // After the event, the same data is moved to PostgreSQL.
  await gate.stop();
  const before = stands(office, id);
  await laptop.stop();
  const postgres = await Postgres.start(true);
  ends.push(() => postgres.end());
  postgres.ask("postgres", "postgres", "CREATE ROLE admit LOGIN");
  postgres.ask("postgres", "postgres", "CREATE DATABASE admit OWNER admit");
  const host = /host=(\S+)/.exec(postgres.address("admit", "admit"))?.[1] ?? "";
  const address = `postgres://admit@localhost/admit?host=${encodeURIComponent(host)}`;
  const moved = execFileSync(admitBinary(), ["migrate-store", "--from", data, "--to", address, "--json"], { encoding: "utf8" });
  expect(JSON.parse(moved)).toBeTruthy();
  const again = await server(["serve", "--tls-self-signed"], {
    DATABASE_URL: address,
    ADMIT_DATA_DIR: data,
    ADMIT_SECRET: readFileSync(join(data, "secret"), "utf8").trim(),
    ADMIT_LISTEN: `0.0.0.0:${PORT}`,
    ADMIT_PUBLIC_URL: URL,
  });
  expect(stands(office, id)).toEqual(before);
  // For the phones the server was only away for a moment.
  expect(await typed(north, code(20))).toBe("admit");
  await until("a scan on PostgreSQL", () => persons().entered === 7, { within: 90_000, every: 500 });
  await again.stop();
}, 600_000);
