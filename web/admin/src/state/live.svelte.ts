/**
 * The live view of one event: a snapshot, then the server's stream of whole snapshots. Nothing is added up here, so
 * nothing can drift; what is old is said to be old.
 */
import { api } from "../../../shared/api/client";
import type { DeviceView, IncidentView, Listed, Occupancy, Statistics } from "../../../shared/api/types";
import { number } from "./format";
import { allOf } from "./pages";
import { gravestFirst } from "./review";

/** Silence after which the numbers are no longer called live. The server speaks at least every 15 s. */
const SILENCE_MS = 20_000;
/** At most two redraws a second. */
const GATHER_MS = 500;
/** Open incidents that are read at most: whoever has more begins with the gravest of these. */
const INCIDENTS = 2_000;

type Topic = "occupancy" | "incidents" | "devices";

export class Live {
  occupancy = $state<Occupancy | null>(null);
  statistics = $state<Statistics | null>(null);
  devices = $state<DeviceView[]>([]);
  /** Those that wait for a person, the gravest first. */
  incidents = $state.raw<IncidentView[]>([]);
  /** There are more than were read. */
  moreIncidents = $state(false);
  /** Whether the lists above were read at all: an empty list is only then a fact. */
  devicesKnown = $state(false);
  incidentsKnown = $state(false);
  /** When the server last said anything. */
  heardAt = $state(0);
  connected = $state(false);
  failure = $state("");
  #stream: EventSource | null = null;
  #stale = new Set<Topic>();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(readonly eventId: string) {}

  open(): void {
    this.#refresh(["occupancy", "incidents", "devices"]);
    this.#connect();
    this.#watch = setInterval(() => {
      if (Date.now() - this.heardAt > SILENCE_MS) {
        this.connected = false;
        // A stream that died without an error is opened anew.
        if (this.#stream?.readyState === EventSource.CLOSED) this.#connect();
      }
    }, 2_000);
    document.addEventListener("visibilitychange", this.#shown);
  }

  close(): void {
    this.#stream?.close();
    clearInterval(this.#watch);
    clearTimeout(this.#gathering);
    document.removeEventListener("visibilitychange", this.#shown);
  }

  #shown = (): void => {
    if (document.visibilityState === "visible") this.#refresh(["occupancy", "incidents", "devices"]);
  };

  #connect(): void {
    this.#stream?.close();
    const stream = new EventSource(`/api/events/${encodeURIComponent(this.eventId)}/stream`);
    this.#stream = stream;
    const heard = (): void => {
      this.heardAt = Date.now();
      this.connected = true;
    };
    stream.addEventListener("open", heard);
    stream.addEventListener("heartbeat", heard);
    stream.addEventListener("message", heard);
    for (const topic of ["occupancy", "incidents", "devices"] as const) {
      stream.addEventListener(topic, () => {
        heard();
        this.#refresh([topic]);
      });
    }
    stream.addEventListener("resync", () => this.#refresh(["occupancy", "incidents", "devices"]));
    stream.addEventListener("error", () => {
      this.connected = false;
    });
  }

  #refresh(topics: Topic[]): void {
    for (const topic of topics) this.#stale.add(topic);
    this.#gathering ??= setTimeout(() => void this.#read(), GATHER_MS);
  }

  /** Reads what went stale; also used right after an act of this page, so that its effect shows at once. */
  async #read(): Promise<void> {
    const stale = new Set(this.#stale);
    this.#stale.clear();
    this.#gathering = undefined;
    const base = `/api/events/${encodeURIComponent(this.eventId)}`;
    try {
      if (stale.has("occupancy")) {
        [this.occupancy, this.statistics] = await Promise.all([
          api.get<Occupancy>(`${base}/occupancy`),
          api.get<Statistics>(`${base}/statistics`),
        ]);
      }
      if (stale.has("devices")) {
        this.devices = (await api.get<Listed<DeviceView>>(`${base}/devices?limit=500`)).items;
        this.devicesKnown = true;
      }
      if (stale.has("incidents")) {
        const open = await allOf<IncidentView>(`${base}/incidents?status=open`, INCIDENTS);
        this.incidents = gravestFirst(open.items);
        this.moreIncidents = open.more;
        this.incidentsKnown = true;
      }
      this.failure = "";
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }

  /** How many wait, in digits. */
  get toReview(): string {
    return `${number(this.incidents.length)}${this.moreIncidents ? "+" : ""}`;
  }

  refreshNow(): Promise<void> {
    this.#stale = new Set(["occupancy", "incidents", "devices"]);
    return this.#read();
  }
}
