// The organisation's own pages: a member is added, signs in, gets another role and is removed; a token opens the API in its
// role until it is revoked; the mail's texts are changed and shown; and the report of an event.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Admit, until } from "./harness/index.ts";
import { DESK, goTo, look, signIn, toastSays } from "./organiser-kit.ts";
import { phoneBox } from "./scanner-kit.ts";

const phones = phoneBox();
let admit: Admit;
beforeAll(async () => {
  admit = await Admit.start();
});
afterAll(async () => {
  await phones.end();
  await admit?.kill("SIGTERM");
});

async function visit(name: string, path: string): Promise<Page> {
  const phone = await phones.open({ name, camera: "none", size: DESK });
  return phone.visit(admit.url + path);
}
const rows = (page: Page) => page.getByTestId("member-row");

test("a member is added with a password to hand over, signs in, gets another role, and is removed", async () => {
  const found: string[] = [];
  const page = await visit("owner", "/organisation/members");
  await signIn(page, admit);
  await rows(page).first().waitFor();
  found.push(...(await look(page, "members")));

  await page.getByTestId("add-member").click();
  // The message about a missing value stands at its field, not in the browser's bubble.
  await page.getByTestId("save-member").click();
  await page.getByTestId("wrong-member-name").waitFor();
  found.push(...(await look(page, "member-new")));
  await page.getByTestId("member-name").fill("Vera Lang");
  await page.getByTestId("member-email").fill("vera@example.org");
  await page.getByTestId("member-role-field").selectOption("viewer");
  const password = await page.getByTestId("member-password").inputValue();
  await page.getByTestId("save-member").click();
  await page.getByTestId("new-member").waitFor();
  expect(await page.getByTestId("new-member-value").allTextContents()).toEqual([admit.url, "vera@example.org", password]);
  // Escape must not close the dialog, because the secret would be lost.
  await page.keyboard.press("Escape");
  await page.getByTestId("new-member-done").click();
  await until("two members", async () => (await rows(page).count()) === 2);

  const hers = await visit("viewer", "/organisation/members");
  await signIn(hers, admit, "vera@example.org", password);
  await hers.getByTestId("section-refused").waitFor();
  expect(await hers.getByRole("link", { name: /Members/ }).count()).toBe(0);

  const vera = rows(page).filter({ hasText: "Vera Lang" });
  await vera.getByTestId("member").click();
  await page.getByTestId("role").selectOption("manager");
  await page.getByTestId("save-role").click();
  await toastSays(page, "Vera Lang is now: manager.");
  await until("her new role", async () => (await vera.getByTestId("member-role").textContent()) === "Manager");

  // The last owner stays one.
  await rows(page).filter({ hasText: admit.demo.email }).getByTestId("member").click();
  await page.getByTestId("role").selectOption("viewer");
  await page.getByTestId("save-role").click();
  await page.getByTestId("wrong-role").filter({ hasText: "at least one owner" }).waitFor();
  await page.getByTestId("role").selectOption("owner");
  await page.keyboard.press("Escape");
  await page.getByTestId("member-dialog").waitFor({ state: "detached" });

  await vera.getByTestId("member").click();
  await page.getByTestId("remove-member").click();
  await page.getByTestId("confirm-yes").click();
  await until("one member", async () => (await rows(page).count()) === 1);
  await hers.reload();
  await hers.getByTestId("sign-in").waitFor();
  expect(found).toEqual([]);
});

test("a mail's text is checked, shown in a frame that runs nothing, saved, and given back", async () => {
  const page = await visit("mails", "/organisation/mails");
  await signIn(page, admit);
  const text = page.getByTestId("mail-text");
  await text.waitFor();
  const [subject, html] = [page.getByTestId("mail-subject"), page.getByTestId("mail-html")];
  const standard = await html.inputValue();

  await text.fill("Hi {{ gest }}\n{{ pass_url }}");
  await page.getByTestId("show-mail").click();
  await page.getByTestId("wrong-mail-text").filter({ hasText: "in line 1, which this mail does not have. Did you mean `guest`?" }).waitFor();
  await page.getByTestId("reset-text").click();

  await subject.fill("{{ guest }}, come in");
  await html.fill('<p id="mine" style="color: rgb(1, 2, 3)">{{ guest }} <a href="{{ pass_url }}">in</a></p><script>document.getElementById("mine").remove()</script><img src="{{ picture }}" alt="">');
  await page.getByTestId("show-mail").click();
  const mine = page.frameLocator("[data-testid=mail-frame]").locator("#mine");
  await mine.filter({ hasText: "Ana Silva" }).waitFor();
  expect(await page.getByTestId("shown-subject").textContent()).toBe("Ana Silva, come in");
  expect(await mine.evaluate((one) => getComputedStyle(one).color), "the mail's own styles hold").toBe("rgb(1, 2, 3)");
  expect(await look(page, "mails")).toEqual([]);

  await page.getByTestId("save-mails").click();
  await page.getByTestId("said-mails").filter({ hasText: "Saved" }).waitFor();
  await page.reload();
  await until("the saved subject", async () => (await subject.inputValue()) === "{{ guest }}, come in");
  for (const part of ["subject", "html"]) await page.getByTestId(`reset-${part}`).click();
  await page.getByTestId("save-mails").click();
  await page.getByTestId("said-mails").filter({ hasText: "Saved" }).waitFor();
  expect(await html.inputValue()).toBe(standard);
});

test("a token is shown once, opens the API in its role, and ends when it is revoked", async () => {
  const page = await visit("tokens", "/organisation/tokens");
  await signIn(page, admit);
  await page.getByTestId("new-token").click();
  await page.getByTestId("token-name").fill("Badge printer");
  await page.getByTestId("token-role").selectOption("viewer");
  await page.getByTestId("save-token").click();
  const token = (await page.getByTestId("token-shown-value").textContent()) ?? "";
  expect(token).toMatch(/^admit_at_/);
  await page.getByTestId("token-shown-done").click();
  const row = page.getByTestId("token-row").filter({ hasText: "Badge printer" });
  await row.waitFor();
  expect(await page.textContent("body")).not.toContain(token);
  expect(await look(page, "tokens")).toEqual([]);

  const asks = async (method: string): Promise<number> => (await fetch(`${admit.url}/api/events`, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, ...(method === "POST" ? { body: JSON.stringify({ name: "Not theirs", time_zone: "UTC", starts_at: "2030-01-01T20:00:00Z", ends_at: "2030-01-01T23:00:00Z" }) } : {}) })).status;
  expect([await asks("GET"), await asks("POST")]).toEqual([200, 403]);
  await row.getByTestId("revoke-token").click();
  await page.getByTestId("confirm-yes").click();
  await row.waitFor({ state: "detached" });
  expect(await asks("GET")).toBe(401);
  await page.getByTestId("chip-over").click();
  expect(await row.getByTestId("token-state").getAttribute("data-state")).toBe("revoked");
});

test("a webhook is made, its secret shown once, and everything of it is readable by day and by night", async () => {
  const found: string[] = [];
  const page = await visit("webhooks", "/organisation/webhooks");
  await signIn(page, admit);
  await page.getByTestId("no-webhook").waitFor();
  found.push(...(await look(page, "webhooks-none")));
  await page.getByTestId("new-webhook").click();
  await page.getByTestId("webhook-name").fill("Members' database");
  await page.getByTestId("webhook-event").selectOption(admit.demo.event_id);
  found.push(...(await look(page, "webhook-new")));
  await page.getByTestId("save-webhook").click();
  const secret = (await page.getByTestId("secret-shown-value").textContent()) ?? "";
  expect(secret).toMatch(/^whsec_/);
  found.push(...(await look(page, "webhook-secret")));
  await page.getByTestId("secret-shown-done").click();
  expect(await page.textContent("body")).not.toContain(secret);
  // After the secret is closed, the button that opened the form has the focus.
  await until("the focus at the button", () => page.getByTestId("new-webhook").evaluate((button) => button === document.activeElement));

  const row = page.getByTestId("webhook-row").filter({ hasText: "Members' database" });
  await row.waitFor();
  found.push(...(await look(page, "webhooks")));
  await row.getByTestId("webhook").click();
  await page.getByTestId("webhook-drawer").waitFor();
  found.push(...(await look(page, "webhook")));
  await page.getByTestId("webhook-off").click();
  await until("the webhook off", async () => (await page.getByTestId("webhook-standing").getAttribute("data-state")) === "off");
  expect(found).toEqual([]);
});

test("the audit ledger says who did what, without a word or an id of a machine", async () => {
  const page = await visit("audit", "/organisation/audit");
  await signIn(page, admit);
  const lines = page.getByTestId("audit-row");
  await lines.first().waitFor();
  expect(await lines.first().textContent()).toContain("Signed in");
  await until("the names", async () => (await lines.filter({ hasText: "Made an API token" }).first().textContent())?.includes(" · "));
  expect((await lines.allTextContents()).join(" ")).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|[a-z]_[a-z]/);
  expect(await look(page, "audit")).toEqual([]);
  // First the lines of one action, then the ledger of an event.
  await page.getByTestId("pick-action").selectOption("api_token_created");
  await until("one action", async () => (await lines.allTextContents()).every((line) => line.includes("Made an API token")));
  expect(page.url()).toContain("action=api_token_created");
  await page.getByTestId("pick-ledger").selectOption(admit.demo.event_id);
  await until("the event's ledger", async () => (await lines.allTextContents()).some((line) => line.includes("tickets")));
  expect((await lines.allTextContents()).join(" ")).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|[a-z]_[a-z]/);
  await page.getByTestId("pick-action").selectOption("gate_removed");
  await page.getByTestId("no-line").getByRole("button").click();
  await lines.first().waitFor();
});

test("the organisation's pages keep the way back to the event that one came from, over a reload too", async () => {
  const page = await visit("back", `/events/${admit.demo.event_id}/guests`);
  await signIn(page, admit);
  await goTo(page, "Members and access");
  await rows(page).first().waitFor();
  await page.reload();
  await rows(page).first().waitFor();
  await goTo(page, "Guests");
  await page.getByTestId("guest").first().waitFor();
  expect(page.url()).toContain(`/events/${admit.demo.event_id}/guests`);
  // On the list of events, no event is chosen.
  await goTo(page, "Members and access");
  await page.goto(admit.url);
  await page.getByTestId("event-row").first().waitFor();
  await goTo(page, "Members and access");
  await rows(page).first().waitFor();
  expect(await page.getByTestId("event-switch").count()).toBe(0);
});

test("the report says who came and who is still to come, also where nobody has", async () => {
  const page = await visit("report", `/events/${admit.demo.event_id}/report`);
  await signIn(page, admit);
  await page.getByTestId("report-running").waitFor();
  expect(await page.getByTestId("report-admitted").textContent()).toBe("0");
  await page.getByTestId("report-guests-came").waitFor();
  expect(await page.getByTestId("quarters-failure").count()).toBe(0);
  expect(await look(page, "report")).toEqual([]);
  // In print the page names its event, and has no links to other pages.
  const event = (await page.getByTestId("event-switch").first().locator("strong").textContent()) ?? "";
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([event]);
  expect(await page.getByRole("navigation").count()).toBe(0);
  expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe("rgb(0, 0, 0)");
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
});
