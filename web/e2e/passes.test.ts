// A pass as a guest sees it: the mail in light and dark mode and without pictures, and the pass page.
import { createServer, type Server } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, barriers, freePort, shot, until } from "./harness/index.ts";

/** A mail server that stores each mail as it came. It can also refuse all recipients. */
class Sink {
  readonly mails: string[] = [];
  knowsNobody = false;
  #server: Server | undefined;

  async start(port: number): Promise<void> {
    const server = createServer((socket) => {
      let open = "";
      let inMail = false;
      socket.on("error", () => {});
      socket.write("220 sink\r\n");
      socket.on("data", (data) => {
        open += data.toString("latin1");
        for (;;) {
          const end = open.indexOf(inMail ? "\r\n.\r\n" : "\r\n");
          if (end < 0) return;
          const said = open.slice(0, end);
          open = open.slice(end + (inMail ? 5 : 2));
          if (inMail) this.mails.push(said);
          const begins = !inMail && said.toUpperCase() === "DATA";
          inMail = begins;
          const refused = this.knowsNobody && said.toUpperCase().startsWith("RCPT");
          socket.write(begins ? "354 go on\r\n" : refused ? "550 5.1.1 nobody here\r\n" : "250 ok\r\n");
        }
      });
    });
    this.#server = server;
    await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  }
  end(): void {
    this.#server?.close();
  }
}

/** The decoded content of a mail's part of this type. */
function part(mail: string, type: string): Buffer {
  const from = mail.slice(mail.toLowerCase().indexOf(`content-type: ${type}`));
  const [head = "", ...rest] = from.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n").split("\r\n--")[0] ?? "";
  if (/base64/i.test(head)) return Buffer.from(body, "base64");
  if (!/quoted-printable/i.test(head)) return Buffer.from(body, "latin1");
  const whole = body.replace(/=\r\n/g, "");
  const bytes = whole.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1");
}

const sink = new Sink();
let admit: Admit;
let browser: Browser;
beforeAll(async () => {
  const port = await freePort();
  await sink.start(port);
  const env = { SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_FROM: "passes@harbour.example" };
  admit = await Admit.start({ env });
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
afterAll(async () => {
  await browser?.close();
  await admit?.kill("SIGTERM");
  sink.end();
});

async function add(guest: object): Promise<string> {
  const answer = await fetch(`${admit.url}/api/events/${admit.demo.event_id}/guests`, {
    method: "POST",
    headers: { Authorization: `Bearer ${admit.demo.api_token}`, "Content-Type": "application/json" },
    body: JSON.stringify(guest),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { ticket: { barcode: string } }).ticket.barcode;
}

async function added(guest: object): Promise<{ token: string; mail: string }> {
  const before = sink.mails.length;
  const token = await add(guest);
  await until("the mail", () => sink.mails.length > before);
  return { token, mail: sink.mails.at(-1) ?? "" };
}

async function page(scheme: "light" | "dark"): Promise<Page> {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 420, height: 860 } });
  return context.newPage();
}

const LONG = "Wilhelmina-Anastasia Đorđević van der Merwe-Papadopoulou";

test("a mail reads well by day, by night and without pictures", async () => {
  const { token, mail } = await added({ name: LONG, email: "guest@guests.example", party_size: 12 });
  const html = part(mail, "text/html").toString("utf8");
  const png = `data:image/png;base64,${part(mail, "image/png").toString("base64")}`;
  expect(html).toContain(LONG);
  for (const scheme of ["light", "dark"] as const) {
    const shown = await page(scheme);
    await shown.setContent(html.replace("cid:pass-qr-code", png));
    const image = shown.locator("img");
    expect(await image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(400);
    expect(await barriers(shown)).toEqual([]);
    expect(await shown.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await shot(shown, `mail-${scheme}`);
    await shown.context().close();
  }
  const without = await page("light");
  await without.setContent(html.replace("cid:pass-qr-code", "data:,"));
  expect(await without.locator("img").getAttribute("alt")).toContain("open your pass by the link");
  expect(await without.getByRole("link", { name: "Open your pass" }).getAttribute("href")).toContain(token);
  await shot(without, "mail-without-pictures");
  await without.context().close();
});

test("a pass's page has no barrier by day and by night, and prints its code", async () => {
  const { token } = await added({ name: LONG, email: "other@guests.example", party_size: 3 });
  for (const scheme of ["light", "dark"] as const) {
    const shown = await page(scheme);
    const answer = await shown.goto(`${admit.url}/passes?token=${token}`);
    expect(answer?.status()).toBe(200);
    await shown.getByText("Valid", { exact: true }).waitFor();
    expect(await barriers(shown)).toEqual([]);
    await shot(shown, `pass-${scheme}`);
    await shown.emulateMedia({ media: "print", colorScheme: scheme });
    expect(await shown.locator("svg.code").isVisible()).toBe(true);
    expect(await shown.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
    await shot(shown, `pass-${scheme}-printed`);
    await shown.context().close();
  }
  const unknown = await page("light");
  expect((await unknown.goto(`${admit.url}/passes?token=nobody`))?.status()).toBe(404);
  expect(await barriers(unknown)).toEqual([]);
  await unknown.context().close();
});

test("passes that nobody could be sent are tried again with one button", async () => {
  sink.knowsNobody = true;
  for (const name of ["Ada", "Ben"]) await add({ name, email: `${name}@guests.example` });
  const shown = await page("light");
  await shown.request.post(`${admit.url}/api/session`, { data: { email: admit.demo.email, password: admit.demo.password } });
  await shown.goto(`${admit.url}/events/${admit.demo.event_id}/passes`);
  const all = shown.getByTestId("retry-all");
  await until("both gave up", async () => {
    await shown.getByRole("button", { name: "Refresh" }).click();
    return (await shown.getByTestId("run").filter({ hasText: "nobody here" }).count()) === 2 && (await all.isVisible());
  });
  await shot(shown, "runs-gave-up");
  const before = sink.mails.length;
  sink.knowsNobody = false;
  await all.click();
  await until("both mails", () => sink.mails.length === before + 2);
  await all.waitFor({ state: "detached" });
  await shown.context().close();
});
