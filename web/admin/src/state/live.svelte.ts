/**
 * The live view of one event: a snapshot, then the server's stream of whole snapshots. Nothing is added up here, so
 * nothing can drift; what is old is said to be old.
 */
import { api } from "../../../shared/api/client";
import type { ArrivalView, DeviceView, IncidentView, Listed, Occupancy, Statistics } from "../../../shared/api/types";
import { allOf } from "./whole-list";
import { gravestFirst } from "./review";
import { ask as askServer, heard as heardServer } from "./server.svelte";
import { loadSession, session } from "./session.svelte";

/** Silence after which the numbers are no longer called live. The server speaks at least every 15 s. */
const SILENCE_MS = 20_000;
/** At most two redraws a second. */
const GATHER_MS = 500;
/** How often it is looked whether the stream still speaks. */
const LOOK_MS = 2_000;
/** A reading that failed is tried again after this. */
const RETRY_MS = 6_000;
/** The longest pause between two tries to open the stream. */
const LONGEST_MS = 60_000;
/** A page that nobody sees lets go of its stream after this: a browser has six connections for all its tabs. */
const HIDDEN_MS = 60_000;
/** Open incidents that are read at most: whoever has more begins with the gravest of these. */
const INCIDENTS = 2_000;

type Topic = "occupancy" | "incidents" | "devices" | "arrivals";
const ALL: readonly Topic[] = ["occupancy", "devices", "incidents", "arrivals"];
/** So many of the newest at the gates are read. */
const ARRIVALS = 20;

/** The pause before the stream is tried again, after so many tries in a row that heard nothing. */
export const pause = (tries: number): number => Math.min(LONGEST_MS, LOOK_MS * 2 ** Math.max(0, tries - 1));

export class Live {
  occupancy = $state<Occupancy | null>(null);
  statistics = $state<Statistics | null>(null);
  devices = $state<DeviceView[]>([]);
  /** Those that wait for a person, the gravest first. */
  incidents = $state.raw<IncidentView[]>([]);
  /** The newest at the gates; `null` until they are read. */
  arrivals = $state.raw<ArrivalView[] | null>(null);
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
  /** The tab shown lives by the stream. */
  #followed = false;
  #over = false;
  /** Since when nobody sees the page; 0 while somebody does. */
  #hiddenAt = 0;
  /** When the stream was last tried, and how often since it last spoke. */
  #triedAt = 0;
  #tries = 0;
  #stale = new Set<Topic>();
  #failedAt = 0;
  #reading: Promise<void> | null = null;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  /** `topics` are what this role may read. */
  constructor(
    readonly eventId: string,
    readonly topics: readonly Topic[] = ALL,
  ) {}

  /** Begins: everything is read once, and from then on what the stream says went stale. */
  open(): void {
    this.#refresh(this.topics);
    if (document.visibilityState !== "visible") this.#hiddenAt = Date.now();
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    document.addEventListener("visibilitychange", this.#shown);
  }

  close(): void {
    this.#over = true;
    this.#hangUp();
    clearInterval(this.#watch);
    clearTimeout(this.#gathering);
    this.#stale.clear();
    document.removeEventListener("visibilitychange", this.#shown);
  }

  /** Whether the tab shown lives by the stream; the others are read when somebody comes back to these. */
  follow(yes: boolean): void {
    if (yes === this.#followed) return;
    this.#followed = yes;
    if (!yes) return this.#hangUp();
    this.#refresh(this.topics);
    this.#connect();
  }

  #shown = (): void => {
    if (document.visibilityState !== "visible") {
      this.#hiddenAt = Date.now();
      return;
    }
    this.#hiddenAt = 0;
    this.#tries = 0;
    this.#refresh(this.topics);
    if (this.#followed && !this.#stream && !session.lost) this.#connect();
  };

  /** Every two seconds: does the stream speak, is something unread? */
  #look(): void {
    const now = Date.now();
    if (this.#hiddenAt > 0 && now - this.#hiddenAt > HIDDEN_MS) this.#hangUp();
    // Without a session nothing is answered; with the next one it goes on at once.
    if (session.lost) return this.#hangUp();
    if (this.#stale.size > 0 && !this.#gathering && now - this.#failedAt > RETRY_MS) void this.#read();
    const stream = this.#stream;
    if (!stream) {
      if (this.#followed && this.#hiddenAt === 0) {
        this.#refresh(this.topics);
        this.#connect();
      }
      return;
    }
    const silent = now - Math.max(this.heardAt, this.#triedAt) > SILENCE_MS;
    if (silent) this.connected = false;
    // After a laptop's sleep a stream may look open and be dead; the browser itself tries one that is connecting.
    const dead = stream.readyState === EventSource.CLOSED || (silent && stream.readyState !== EventSource.CONNECTING);
    if (dead && now - this.#triedAt >= pause(this.#tries)) this.#connect();
  }

  #hangUp(): void {
    this.#stream?.close();
    this.#stream = null;
    this.connected = false;
  }

  #connect(): void {
    this.#stream?.close();
    this.#triedAt = Date.now();
    this.#tries += 1;
    const stream = new EventSource(`/api/events/${encodeURIComponent(this.eventId)}/stream`);
    this.#stream = stream;
    const heard = (): void => {
      this.heardAt = Date.now();
      heardServer();
      this.connected = true;
      this.#tries = 0;
    };
    stream.addEventListener("open", () => {
      // What was said while it was away was not heard.
      this.#refresh(this.topics);
      heard();
    });
    stream.addEventListener("heartbeat", heard);
    stream.addEventListener("message", heard);
    for (const topic of this.topics) {
      stream.addEventListener(topic, () => {
        heard();
        // Whoever changed the counts stood at a gate.
        this.#refresh(topic === "occupancy" && this.topics.includes("arrivals") ? ["occupancy", "arrivals"] : [topic]);
      });
    }
    stream.addEventListener("resync", () => this.#refresh(this.topics));
    stream.addEventListener("error", () => {
      this.connected = false;
      // Whether the server is gone, or this stream alone: what it said last is shown as that old at once.
      void askServer();
      // A stream can't say why it was refused: whether the session is over is asked. A failure says nothing of it.
      if (stream.readyState === EventSource.CLOSED && !session.lost) void loadSession().catch(() => {});
    });
  }

  #refresh(topics: readonly Topic[]): void {
    for (const topic of topics) this.#stale.add(topic);
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.#read();
    }, GATHER_MS);
  }

  /** One reading at a time: what was asked earlier never lands on what was asked later. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Reads what is stale until nothing is, but for what still gathers. What failed stays stale. */
  async #readAll(): Promise<void> {
    while (this.#stale.size > 0 && !this.#gathering) {
      const topics = [...this.#stale];
      this.#stale.clear();
      try {
        for (const topic of [...topics]) {
          await this.#readOne(topic);
          topics.shift();
        }
        this.failure = "";
      } catch (error) {
        for (const topic of topics) this.#stale.add(topic);
        this.failure = error instanceof Error ? error.message : String(error);
        this.#failedAt = Date.now();
        return;
      }
    }
  }

  async #readOne(topic: Topic): Promise<void> {
    const base = `/api/events/${encodeURIComponent(this.eventId)}`;
    if (topic === "occupancy") {
      [this.occupancy, this.statistics] = await Promise.all([
        api.get<Occupancy>(`${base}/occupancy`),
        api.get<Statistics>(`${base}/statistics`),
      ]);
    } else if (topic === "devices") {
      this.devices = (await api.get<Listed<DeviceView>>(`${base}/devices`)).items;
      this.devicesKnown = true;
    } else if (topic === "arrivals") {
      this.arrivals = (await api.get<Listed<ArrivalView>>(`${base}/arrivals?limit=${ARRIVALS}`)).items;
    } else {
      const open = await allOf<IncidentView>(`${base}/incidents?status=open`, INCIDENTS);
      this.incidents = gravestFirst(open.items);
      this.moreIncidents = open.more;
      this.incidentsKnown = true;
    }
  }

  /** Everything anew, right after an act of this page, so that its effect shows at once. */
  async refreshNow(): Promise<void> {
    if (this.#over) return;
    for (const topic of this.topics) this.#stale.add(topic);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    return this.#read();
  }
}
