// The whole way from a database row to the door, with real programs at each step (issue 4). They are an organiser's PostgreSQL,
// the relay, the server, an S3 server, Postfix, a mailbox, zbar, and a phone without a network.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import {
  Admit, admitBinary, Bucket, freePort, freshFolder, hold, isRoot, type Mail, MAIL_DOMAIN, Postfix, Postgres, root, shot, until,
} from "./harness/index.ts";
import { answered, Doors, next, phoneBox, synced } from "./scanner-kit.ts";

const phones = phoneBox();
/** Functions that end what the test started. They are called in reverse order. */
const started: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await phones.end();
  for (const end of started.reverse()) await end();
});

async function begun<T extends { end(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(() => server.end());
  return server;
}

const OWNER = "office@harbour.example";
const NAME = `Zoë "Q" O'Brien <b>🎟</b>`;
const EMAIL = `zoe@${MAIL_DOMAIN}`;

/** Starts an Admit with an organisation and an API token. It stores pictures in the bucket, and sends mail by Postfix. */
async function office(bucket: Bucket, postfix: Postfix): Promise<{ admit: Admit; token: string }> {
  const [dataDir, port] = [freshFolder("chain"), await freePort()];
  const said = (...command: string[]) =>
    execFileSync(admitBinary(), [...command, "--data-dir", dataDir, "--email", OWNER], { encoding: "utf8" }).trim();
  said("user", "add", "--organization", "Old Harbour");
  const token = said("token", "create");
  const env = {
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    OBJECTS_URL: bucket.url,
    SMTP_URL: postfix.url,
    SMTP_FROM: "passes@harbour.example",
  };
  const admit = await Admit.start({ command: "serve", dataDir, port, env });
  started.push(() => admit.kill("SIGTERM"));
  return { admit, token };
}

/** An organiser's database set up by the guide: the organiser's table, Admit's SQL file unchanged, and a role for the relay. */
async function theirs(): Promise<Postgres> {
  const postgres = await begun(Postgres.start());
  postgres.ask("postgres", "postgres", "CREATE ROLE office LOGIN; CREATE ROLE admit_relay LOGIN");
  postgres.ask("postgres", "postgres", "CREATE DATABASE club OWNER office");
  postgres.run("office", "club", join(root, "integrations/postgres/tests/guests.sql"));
  postgres.run("office", "club", join(root, "integrations/postgres/admit.sql"));
  postgres.ask("office", "club", "GRANT USAGE ON SCHEMA admit TO admit_relay");
  postgres.ask("office", "club", "GRANT SELECT, UPDATE, DELETE ON admit.outbox TO admit_relay");
  return postgres;
}

async function relaying(postgres: Postgres, doors: Doors): Promise<ChildProcess> {
  const endpoint = await doors.call<{ url: string; secret: string }>("POST", "/api/webhook-endpoints", {
    event_id: doors.id,
    name: "the club's table",
  });
  const relay = spawn(admitBinary(), ["relay"], {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      RUST_LOG: "error",
      RELAY_DATABASE_URL: postgres.address("admit_relay", "club"),
      RELAY_ENDPOINT: endpoint.url,
      RELAY_SECRET: endpoint.secret,
    },
  });
  started.push(async () => {
    const gone = new Promise((done) => relay.once("exit", done));
    if (relay.kill("SIGTERM")) await gone;
  });
  return relay;
}

/** The phone reads a code again only after it was out of view this long (experience §7.2), milliseconds. */
const REARM_MS = 3_500;

const header = (mail: Mail, name: string): string[] =>
  mail.headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);

/** The only part of a mail with this type. */
function part(mail: Mail, type: string): Mail["parts"][number] {
  const found = mail.parts.filter((one) => one.type === type);
  expect(found, type).toHaveLength(1);
  return found[0] as Mail["parts"][number];
}

/** The text that zbar, an independent decoder, reads in a picture. */
function decoded(png: Buffer): string {
  const path = join(freshFolder("code"), "mail.png");
  writeFileSync(path, png);
  return execFileSync("zbarimg", ["--quiet", "--raw", path], { encoding: "utf8", stdio: "pipe" }).trim();
}

/** The picture with inverted colours, as a mail app in dark mode shows it, as a data URL. */
async function inverted(page: Page, png: Buffer): Promise<string> {
  return page.evaluate(async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.naturalWidth, height: image.naturalHeight });
    const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    pen.filter = "invert(1)";
    pen.drawImage(image, 0, 0);
    return canvas.toDataURL("image/png");
  }, `data:image/png;base64,${png.toString("base64")}`);
}

const pill = (page: Page, state: string): Promise<unknown> =>
  until(`the pill to say ${state}`, () => page.locator(`[data-testid="pill"]${state}`).count(), { within: 60_000 });

// Postfix's master process needs root. Without root the test is skipped. CI runs as root.
test.skipIf(!isRoot)("a row of a guest table becomes a mail whose code opens the pass and, offline, the door (as root)", async () => {
  const [bucket, postfix] = [await begun(Bucket.start()), await begun(Postfix.start())];
  const { admit, token: key } = await office(bucket, postfix);
  const doors = await Doors.open(admit, [], { name: "Late Night", venue: "Shed 9", time_zone: "Europe/Lisbon" }, key);
  const postgres = await theirs();
  const relay = await relaying(postgres, doors);

  // The test inserts one row. The relay and the server do the rest.
  const row = `INSERT INTO guests (name, email) VALUES ('${NAME.replaceAll("'", "''")}', '${EMAIL}')`;
  postgres.ask("office", "club", row);
  const [mail] = await until("the mail in the mailbox", () => postfix.mails.length > 0 && postfix.mails, { within: 60_000 });
  if (!mail) throw new Error("no mail");
  const outbox = "SELECT count(*), count(*) FILTER (WHERE done_at IS NOT NULL AND problem IS NULL) FROM admit.outbox";
  await until("the line to be marked", () => postgres.ask("admit_relay", "club", outbox) === "1|1");
  expect(relay.exitCode).toBe(null);

  // Postfix delivered the mail to this guest, and Python can read it. Its attachment is the picture that the S3 server has.
  expect(mail.defects).toBe(0);
  expect(header(mail, "received").join()).toContain(`by mail.${MAIL_DOMAIN} (Postfix)`);
  expect(header(mail, "delivered-to")).toEqual([EMAIL]);
  expect(header(mail, "subject")).toEqual(["Your pass for Late Night"]);
  const html = part(mail, "text/html").text ?? "";
  expect(html).toContain("Zoë &quot;Q&quot; O&#39;Brien &lt;b&gt;🎟&lt;/b&gt;");
  const picture = part(mail, "image/png");
  expect(html).toContain(`src="cid:${picture.content_id?.replace(/^<|>$/g, "")}"`);
  const png = Buffer.from(picture.bytes, "hex");
  const link = decoded(png);
  expect(part(mail, "text/plain").text).toContain(link);
  const token = new URL(link).searchParams.get("token") ?? "";
  expect(link).toBe(`${admit.url}/passes?token=${token}`);
  expect(bucket.object(`qr-codes/${token}.png`).equals(png)).toBe(true);

  // The link opens the pass.
  const guest = await phones.open({ name: "guest", camera: "none" });
  const pass = await guest.visit(link);
  await pass.getByText("Valid", { exact: true }).waitFor();
  expect(await pass.textContent("body")).toContain(NAME);
  await shot(pass, "chain-pass");

  // A phone has its list and then no network. The camera sees exactly the picture of the mail.
  const phone = await phones.open({ name: "door" });
  const page = await doors.pair(phone, "north", "North 1");
  await synced(page);
  await admit.kill("SIGKILL");
  await pill(page, '[data-online="false"]');
  const seen = await answered(page, () => hold(page, `data:image/png;base64,${png.toString("base64")}`));
  expect(seen).toBe("admit");
  await shot(page, "chain-admitted");
  await pill(page, '[data-online="false"][data-unsent="1"]');
  await hold(page, null);
  await next(page);
  // A mail app in dark mode shows the code light on dark. The phone reads that too.
  await new Promise((later) => setTimeout(later, REARM_MS));
  const dark = await inverted(page, png);
  expect(await answered(page, () => hold(page, dark))).toBe("same_ticket");
  await hold(page, null);

  // The network is back. There is one scan and one person inside, and the guest's history says so.
  await admit.restart();
  await synced(page, 90_000);
  expect(await doors.scans()).toHaveLength(1);
  const { entered, inside, open_incidents } = await doors.occupancy();
  expect({ entered, inside, open_incidents }).toEqual({ entered: 1, inside: 1, open_incidents: 0 });
  const { items: guests } = await doors.call<{ items: { id: string; name: string }[] }>("GET", `/api/events/${doors.id}/guests`);
  expect(guests.map(({ name }) => name)).toEqual([NAME]);
  const path = `/api/guests/${guests[0]?.id}/timeline`;
  const { items: story } = await doors.call<{ items: { what: string; gate?: string; by_hand: boolean }[] }>("GET", path);
  expect(story.filter(({ what }) => what === "entered")).toMatchObject([{ gate: "North", by_hand: false }]);
  expect(story.at(-1)?.what).toBe("added");
  await pass.reload();
  await pass.getByText("Used", { exact: true }).waitFor();
  expect(postfix.mails, "nobody was mailed twice").toHaveLength(1);
  for (const one of [guest, phone]) expect(one.errors).toEqual([]);
}, 300_000);
