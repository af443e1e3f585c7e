// Makes an example event over HTTP, as devices and organisers would: guests, gates, phones, and an hour of arrivals with usual
// mistakes. The README's pictures show it.
import type { Admit } from "./harness/index.ts";

const FIRST = "Ana Noah Siobhán Нина Emre Łucja Kofi Zoë Mateo Ingrid Yuki Chiara Ravi Amélie Tomáš Lerato Ewa Piet Fatima Óscar Gwen Imran Aroha Liam".split(" ");
const LAST = "Botha Tamm Lindqvist Çelik Đorđević Mensah Sánchez Nakamura Quispe Iyer Brânză Novák Dlamini Wójcik Kaplan Haddad García Moreau Petrov Smith Abebe Vega Olsen Jovanović".split(" ");
const LISTS = ["Harbour crew", "Nightshift", "Press", "Friends"];
const MINUTE = 60_000;
const GUESTS = 1_140;

type Call = <T = { id: string }>(method: string, path: string, body?: unknown, type?: string) => Promise<T>;

function caller(admit: Admit): Call {
  return async (method, path, body, type = "application/json") => {
    const answer = await fetch(admit.url + path, {
      method,
      headers: { authorization: `Bearer ${admit.demo.api_token}`, ...(body === undefined ? {} : { "content-type": type }) },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} gave ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as never;
  };
}

/** A generator of pseudo-random whole numbers. The same seed gives the same numbers. */
function dice(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** Makes an event with gates, entry types and this number of guests, each with a code. */
async function prepared(call: Call, name: string, from: number, to: number, guests: number, status: "draft" | "live"): Promise<{ id: string; codes: { code: string; vip: boolean; party: number }[] }> {
  const event = { name, venue: "Old Harbour, Quay 4", time_zone: "Europe/Berlin", starts_at: new Date(Date.now() + from).toISOString(), ends_at: new Date(Date.now() + to).toISOString(), capacity: 1_600, status, gates: [] };
  const { id } = await call("POST", "/api/events", event);
  const base = `/api/events/${id}`;
  // A new event has the entry type General already.
  await call("POST", `${base}/entry-types`, { name: "VIP", zone: "vip" });
  const gates = [["main", "Main entrance", "in", ["general", "vip"]], ["north", "North gate", "in", ["general", "vip"]], ["vip", "VIP terrace", "in", ["vip"]], ["way-out", "Way out", "out", ["general", "vip"]]] as const;
  for (const [gate, title, direction, zones] of gates) await call("POST", `${base}/gates`, { id: gate, name: title, direction, zones, names_on_devices: true });
  const roll = dice(7);
  const codes = Array.from({ length: guests }, (_, at) => ({ code: `HL26-${String(at + 1).padStart(4, "0")}`, vip: roll(9) === 0, party: roll(7) === 0 ? 2 + roll(3) : 1 }));
  const rows = codes.map(({ code, vip, party }, at) => {
    const person = `${FIRST[roll(FIRST.length)]} ${LAST[roll(LAST.length)]}`;
    return `${code},"${person}",guest${at}@guests.example,${party},${vip ? "vip" : "general"},${LISTS[roll(LISTS.length + 3)] ?? ""}`;
  });
  await call("POST", `${base}/tickets/import`, `barcode,name,email,party_size,zone,guest_list\n${rows.join("\n")}\n`, "text/csv");
  return { id, codes };
}

interface Virtual {
  id: string;
  key: string;
}
async function pair(admit: Admit, call: Call, event: string, gate: string, name: string): Promise<Virtual> {
  const { pairing_token } = await call<{ pairing_token: string }>("POST", `/api/events/${event}/pairing-tokens`, { gate_id: gate });
  const id = `pic-${event.slice(-6)}-${name.toLowerCase().replaceAll(" ", "-")}`;
  const answer = await fetch(`${admit.url}/api/scanning/pair`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ pairing_token, device_id: id, name, device_type: "phone" }),
  });
  if (!answer.ok) throw new Error(`pairing ${name} gave ${answer.status}: ${await answer.text()}`);
  return { id, key: ((await answer.json()) as { api_key: string }).api_key };
}
interface Scan {
  code: string;
  at: number;
}
let batches = 0;
async function send(admit: Admit, phone: Virtual, scans: Scan[]): Promise<void> {
  batches += 1;
  const answer = await fetch(`${admit.url}/api/scans/sync`, {
    method: "POST",
    headers: { authorization: `Bearer ${phone.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      batch_id: `pictures-${batches}`, device_id: phone.id, batch_created_at: new Date().toISOString(), batch_size: scans.length,
      scans: scans.map(({ code, at }, place) => ({ offline_id: `${batches}-${place}`, ticket_code: code, scanned_at: new Date(at).toISOString() })),
    }),
  });
  if (!answer.ok) throw new Error(`a batch gave ${answer.status}: ${await answer.text()}`);
}

/** Makes the live event of the evening, and a draft of the next event. */
export async function evening(admit: Admit): Promise<{ live: string; draft: string; codes: string[] }> {
  const call = caller(admit);
  const { id, codes } = await prepared(call, "Harbour Lights 2026", -124 * MINUTE, 4 * 60 * MINUTE, GUESTS, "live");
  await call("PATCH", `/api/events/${id}`, { staff_pin: "4711" });
  const phones: Record<string, Virtual[]> = { main: [], north: [], vip: [] };
  for (const [gate, name, many] of [["main", "Main", 3], ["north", "North", 2], ["vip", "Terrace", 1]] as const) {
    for (let at = 1; at <= many; at += 1) phones[gate]?.push(await pair(admit, call, id, gate, `${name} ${at}`));
  }
  const roll = dice(41);
  const now = Date.now();
  const queues = new Map<Virtual, Scan[]>();
  const put = (phone: Virtual | undefined, scan: Scan): void => {
    if (phone) queues.set(phone, [...(queues.get(phone) ?? []), scan]);
  };
  // More and more guests come, with a peak every quarter of an hour.
  let next = 0;
  for (let minute = 62; minute >= 1; minute -= 1) {
    const passed = 62 - minute;
    const many = Math.round(2 + 16 * (passed / 62) ** 1.6 + 4 * Math.sin(passed / 4.2) * (passed / 62));
    for (let one = 0; one < many && next < codes.length - 60; one += 1, next += 1) {
      const guest = codes[next];
      if (!guest) continue;
      const gate = guest.vip ? "vip" : roll(5) < 3 ? "main" : "north";
      const at = now - minute * MINUTE + roll(MINUTE);
      const at_gate = phones[gate] ?? [];
      put(at_gate[roll(at_gate.length)], { code: guest.code, at });
      // A copy of the ticket is scanned shortly after at the other gate.
      if (next % 97 === 50 && gate !== "vip") put(phones[gate === "main" ? "north" : "main"]?.[0], { code: guest.code, at: at + 4 * MINUTE - 20_000 });
    }
  }
  for (const [phone, scans] of queues) await send(admit, phone, scans.filter((scan) => scan.at < now - 2_000).sort((a, b) => a.at - b.at));
  const draft = await prepared(call, "Harbour Lights 2027", 9.3 * 24 * 60 * MINUTE, (9.3 * 24 + 6) * 60 * MINUTE, 640, "draft");
  for (const name of ["Door 1", "Door 2"]) await pair(admit, call, draft.id, "main", name);
  return { live: id, draft: draft.id, codes: codes.slice(-60).map(({ code }) => code) };
}

/** A list as Luma exports it. Most guests are approved, some declined or pending. A spreadsheet has damaged a few codes. */
export function lumaList(): string {
  const roll = dice(3);
  const rows = Array.from({ length: 412 }, (_, at) => {
    const name = `${FIRST[roll(FIRST.length)]} ${LAST[roll(LAST.length)]}`;
    const status = roll(11) === 0 ? "declined" : roll(19) === 0 ? "pending_approval" : "approved";
    const type = ["Early bird", "Early bird", "Standard", "Press"][roll(4)];
    const code = at % 83 === 41 ? "2.38E+13" : `https://lu.ma/check-in/evt-Harbour?pk=g-${String(100_000 + at * 7)}`;
    return `gst-${at},"${name}",guest${at}@guests.example,${status},${type},${code},2026-10-${String(1 + roll(28)).padStart(2, "0")}T18:22:10Z`;
  });
  return `api_id,name,email,approval_status,ticket_name,qr_code_url,created_at\n${rows.join("\n")}\n`;
}
