/**
 * The live view of one event. The server's stream says which data has changed, and this class reads that data as a whole. It adds
 * nothing up itself, so its numbers cannot drift. It says so if the numbers are old.
 */
import { api } from "../../../shared/api/client";
import type { ArrivalView, DeviceView, IncidentView, Listed, Occupancy, Statistics } from "../../../shared/api/types";
import { allOf } from "./whole-list";
import { gravestFirst } from "./review";
import { ask as askServer, heard as heardServer } from "./server.svelte";
import { loadSession, session } from "./session.svelte";

/** If the stream sends nothing for this long, the numbers are no longer called live, milliseconds. The server sends something every 15 s. */
const SILENCE_MS = 20_000;
/** Changes are gathered for this long, so that the page reads at most twice a second, milliseconds. */
const GATHER_MS = 500;
/** How often the class checks that the stream still sends, milliseconds. */
const LOOK_MS = 2_000;
/** The pause before a failed reading is repeated, milliseconds. */
const RETRY_MS = 6_000;
/** The longest pause between two tries to open the stream, milliseconds. */
const LONGEST_MS = 60_000;
/** A hidden page closes its stream after this time, milliseconds. A browser has only six connections to a server for all tabs. */
const HIDDEN_MS = 60_000;
/** The most open incidents that are read. */
const INCIDENTS = 2_000;

type Topic = "occupancy" | "incidents" | "devices" | "arrivals";
const ALL: readonly Topic[] = ["occupancy", "devices", "incidents", "arrivals"];
/** How many of the newest arrivals are read. */
const ARRIVALS = 20;

/** The pause before the next try to open the stream, after this many tries in a row without a message. */
export const pause = (tries: number): number => Math.min(LONGEST_MS, LOOK_MS * 2 ** Math.max(0, tries - 1));

export class Live {
  occupancy = $state<Occupancy | null>(null);
  statistics = $state<Statistics | null>(null);
  devices = $state<DeviceView[]>([]);
  /** The incidents that wait for a person, the most severe first. */
  incidents = $state.raw<IncidentView[]>([]);
  /** The newest arrivals at the gates. `null` until they are read. */
  arrivals = $state.raw<ArrivalView[] | null>(null);
  /** Whether there are more incidents than were read. */
  moreIncidents = $state(false);
  /** Whether the devices were read. Only then does an empty list mean that there are none. */
  devicesKnown = $state(false);
  incidentsKnown = $state(false);
  /** When the stream last sent something. */
  heardAt = $state(0);
  connected = $state(false);
  failure = $state("");
  #stream: EventSource | null = null;
  /** Whether the shown page needs the stream. */
  #followed = false;
  #over = false;
  /** Since when the page is hidden. 0 while it is visible. */
  #hiddenAt = 0;
  /** When the class last tried to open the stream. */
  #triedAt = 0;
  #tries = 0;
  #stale = new Set<Topic>();
  #failedAt = 0;
  #reading: Promise<void> | null = null;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  /** `topics`: the kinds of data that this role may read. */
  constructor(
    readonly eventId: string,
    readonly topics: readonly Topic[] = ALL,
  ) {}

  /** Reads everything once. From then on, only data that the stream reports as changed is read. */
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

  /** Says whether the shown page needs the stream. Without it the stream is closed, and everything is read when such a page is shown again. */
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

  /** Runs every two seconds. Opens a dead stream again, and reads data that is still stale. */
  #look(): void {
    const now = Date.now();
    if (this.#hiddenAt > 0 && now - this.#hiddenAt > HIDDEN_MS) this.#hangUp();
    // Without a session the server refuses everything. After the next sign-in the stream is opened again.
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
    // After a laptop slept, a dead stream may look open. If the stream is connecting, the browser itself tries.
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
      // Changes may have been missed while the stream was closed.
      this.#refresh(this.topics);
      heard();
    });
    stream.addEventListener("heartbeat", heard);
    stream.addEventListener("message", heard);
    for (const topic of this.topics) {
      stream.addEventListener(topic, () => {
        heard();
        // A change of the counts means that somebody arrived at a gate.
        this.#refresh(topic === "occupancy" && this.topics.includes("arrivals") ? ["occupancy", "arrivals"] : [topic]);
      });
    }
    stream.addEventListener("resync", () => this.#refresh(this.topics));
    stream.addEventListener("error", () => {
      this.connected = false;
      // Finds out whether the server is gone or only this stream. If the server is gone, the app shows at once how old the numbers are.
      void askServer();
      // A stream can't say why it was refused, so the app asks whether the session is over. A failed request leaves that open.
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

  /** Reads the stale data. Only one reading runs at a time, so an older answer never replaces a newer one. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Reads until nothing is stale, or until changes are being gathered again. Data that could not be read stays stale. */
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

  /** Reads everything at once after an action on this page, so that its effect shows immediately. */
  async refreshNow(): Promise<void> {
    if (this.#over) return;
    for (const topic of this.topics) this.#stale.add(topic);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    return this.#read();
  }
}
