/** Reads the scans and tickets that incidents name, once for each version of an incident. */
import { api } from "../../../shared/api/client";
import type { IncidentView, Listed, ScanView, TicketView } from "../../../shared/api/types";
import { scanKey } from "./review";

/** The most pages of a device's scans that are searched for a scan without a ticket. */
const PAGES = 4;

export class Facts {
  scans = $state<Record<string, ScanView>>({});
  tickets = $state<Record<string, TicketView>>({});
  #read = new Map<string, string>();

  constructor(readonly eventId: string) {}

  /** Reads the facts of these incidents. After a failure the next reading tries again. Until then a card has less detail, but nothing wrong. */
  async of(incidents: readonly IncidentView[]): Promise<void> {
    for (const incident of incidents) {
      if (this.#read.get(incident.id) === incident.updated_at) continue;
      this.#read.set(incident.id, incident.updated_at);
      try {
        await this.#one(incident);
      } catch {
        this.#read.delete(incident.id);
      }
    }
  }

  async #one(incident: IncidentView): Promise<void> {
    if (incident.ticket_id) {
      // The incident names the ticket's guest. Without a guest the card shows the ticket's code, which must be read.
      if (!incident.guest) this.tickets[incident.ticket_id] = await api.get<TicketView>(`/api/tickets/${encodeURIComponent(incident.ticket_id)}`);
      await this.#look({ ticket_id: incident.ticket_id }, incident);
    }
    for (const device_id of new Set(incident.scans.map((scan) => scan.device_id))) await this.#look({ device_id }, incident);
  }

  async #look(where: Record<string, string>, incident: IncidentView): Promise<void> {
    let cursor: string | null = null;
    for (let page = 0; page < PAGES; page += 1) {
      if (incident.scans.every((scan) => this.scans[scanKey(scan)])) return;
      const query = new URLSearchParams({ limit: "500", ...where, ...(cursor ? { cursor } : {}) });
      const listed: Listed<ScanView> = await api.get(`/api/events/${encodeURIComponent(this.eventId)}/scans?${query}`);
      const wanted = new Set(incident.scans.map(scanKey));
      for (const scan of listed.items) {
        const key = scanKey(scan);
        if (wanted.has(key) && (scan.stage === "final" || !this.scans[key])) this.scans[key] = scan;
      }
      cursor = listed.next_cursor;
      if (!cursor) return;
    }
  }
}
