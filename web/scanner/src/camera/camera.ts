import { bestCamera, type CameraKind } from "./choice.ts";
import { Failures } from "./failures.ts";
import type { Format } from "./formats.ts";
import type { FromDecoder, ReaderFault, ToDecoder } from "./messages.ts";
import { FrameWatch } from "./watch.ts";

/** `muted`: open, and a call or another app keeps its picture away. */
export type CameraState = "off" | "starting" | "live" | "muted" | "denied" | "none" | "lost" | "busy";

export interface CameraEvents {
  state(state: CameraState): void;
  /** Two codes are in view. */
  crowd(): void;
  torch(available: boolean): void;
  /** How far the picture can be enlarged; null: this camera cannot. */
  zoom(zoom: Zoom | null): void;
  /** The cameras of this device, once their names may be known, and the one that runs. */
  cameras(all: CameraKind[], current: string): void;
  /** It had stopped or stood still, and runs again. */
  restarted(): void;
  /** No code can be read, and why; null: they are read again. */
  fault(fault: ReaderFault | null): void;
}

/** How many times larger than it is. */
export interface Zoom {
  factor: number;
  most: number;
}

/** Which camera to open, by the browser's id of it; empty: none is named. */
export interface Wish {
  /** A person chose it. */
  chosen: string;
  /** It was the best one the last time. */
  last: string;
}

/** Without a code for this long, four frames a second are enough: phones get hot (experience §3). */
const IDLE_AFTER_MS = 2 * 60_000;
const IDLE_FRAME_MS = 250;
/** So often we look whether the picture goes on. */
const LOOK_EVERY_MS = 1_000;

/**
 * One camera stream for the whole shift, and the loop that hands its frames to the decoder worker: at most one on its
 * way, so that a slow phone drops frames instead of queueing them.
 */
export class Camera {
  #stream: MediaStream | null = null;
  #video: HTMLVideoElement | null = null;
  #decoder: Worker;
  /** The kinds it was told last. */
  #formats = "";
  #busy = true;
  #lastFrame = 0;
  #lastActivity = performance.now();
  #run = 0;
  #torch = false;
  #front = false;
  #zoom: Zoom | null = null;
  /** This tab scans: whatever takes the camera away, we want it back. */
  #wanted = false;
  #opening = false;
  /** It was open, and is gone: tried again as long as it is wanted. */
  #isLost = false;
  #watch = new FrameWatch();
  /** Of taking frames out of the video; those of reading them are the decoder's. */
  #failures = new Failures();
  #looking: ReturnType<typeof setInterval>;

  /** `engine` is the port on which the engine worker listens for codes. */
  constructor(
    engine: MessagePort,
    private readonly events: CameraEvents,
    private wish: Wish = { chosen: "", last: "" },
  ) {
    this.#decoder = new Worker(new URL("./decoder.worker.ts", import.meta.url), { type: "module", name: "decoder" });
    this.#decoder.onmessage = (event: MessageEvent<FromDecoder>) => this.#onDecoder(event.data);
    this.#decoder.onerror = () => this.events.fault({ reason: "not_started", error: "" });
    this.#decoder.postMessage({ kind: "boot", engine } satisfies ToDecoder, [engine]);
    document.addEventListener("visibilitychange", this.#playOn);
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** The kinds of codes to read from now on, QR beside them; an event's list may name them. */
  setFormats(formats: readonly Format[]): void {
    // It is asked with every view of the engine: the decoder is told what changes.
    if (String(formats) === this.#formats) return;
    this.#formats = String(formats);
    // A copy: what a screen holds is not what a worker can be handed.
    this.#decoder.postMessage({ kind: "formats", formats: [...formats] } satisfies ToDecoder);
  }

  /** Takes the camera that a person chose; empty: the best one for tickets. */
  async use(chosen: string): Promise<void> {
    this.wish = { ...this.wish, chosen };
    if (this.#stream !== null) await this.#reopen();
  }

  /** Looks at who stands before the screen, or else at what is held behind the phone. */
  face(front: boolean): void {
    if (this.#front === front) return;
    this.#front = front;
    if (this.#stream !== null) void this.#reopen();
  }

  async #reopen(): Promise<void> {
    if (this.#opening) return;
    this.#drop();
    this.events.torch(false);
    await this.#begin();
  }

  /** Opens the camera into `video`. Safe to call again after a failure. */
  async open(video: HTMLVideoElement): Promise<void> {
    this.#video = video;
    this.#wanted = true;
    if (this.#isMuted()) this.#drop();
    if (this.#stream !== null) {
      await this.#attach(video);
      return;
    }
    if (navigator.mediaDevices?.getUserMedia === undefined) {
      this.events.state("none");
      return;
    }
    this.events.state("starting");
    await this.#begin();
  }

  /** Asks for a camera; whether one runs now. One that was lost is tried again later, whoever asked. */
  async #begin(): Promise<boolean> {
    if (this.#opening) return false;
    this.#opening = true;
    let stream: MediaStream;
    try {
      stream = await this.#ask();
    } catch (error) {
      const state = stateOf(error);
      if (state === "denied") this.#isLost = false;
      if (this.#wanted) this.events.state(this.#isLost ? "lost" : state);
      return false;
    } finally {
      this.#opening = false;
      this.#watch.anew();
    }
    if (!this.#wanted) {
      // Another tab scans by now.
      letGo(stream);
      return false;
    }
    this.#stream = stream;
    this.#isLost = false;
    const track = stream.getVideoTracks()[0];
    if (track !== undefined) {
      track.onended = () => void this.#again();
      track.onmute = () => this.events.state("muted");
      track.onunmute = () => this.events.state("live");
    }
    this.events.torch(hasTorch(track));
    this.#zoom = zoomOf(track);
    this.events.zoom(this.#zoom);
    if (this.#video !== null) await this.#attach(this.#video);
    void this.#compare(track);
    return !this.#isMuted();
  }

  /** Asks for the camera that was chosen or was best the last time, else for one at the back. */
  async #ask(): Promise<MediaStream> {
    const size = { width: { ideal: 1280 }, height: { ideal: 720 } };
    if (this.#front) return navigator.mediaDevices.getUserMedia({ audio: false, video: { facingMode: { ideal: "user" }, ...size } });
    const wished = this.wish.chosen || this.wish.last;
    if (wished !== "") {
      try {
        return await navigator.mediaDevices.getUserMedia({ audio: false, video: { deviceId: { exact: wished }, ...size } });
      } catch (error) {
        // It is gone, or the browser gave its cameras new ids. Whatever else is wrong is wrong with any camera.
        if (stateOf(error) !== "none") throw error;
      }
    }
    return navigator.mediaDevices.getUserMedia({ audio: false, video: { facingMode: { ideal: "environment" }, ...size } });
  }

  /** Once a camera is allowed the others have names: where one of them reads tickets better, it is taken. */
  async #compare(track: MediaStreamTrack | undefined): Promise<void> {
    const current = track?.getSettings?.().deviceId ?? "";
    let cameras: CameraKind[];
    try {
      cameras = (await navigator.mediaDevices.enumerateDevices()).filter((device) => device.kind === "videoinput" && device.deviceId !== "").map(kindOf);
    } catch {
      return;
    }
    const running = cameras.find((camera) => camera.id === current);
    // Of the camera that runs more is known than of the others.
    if (running !== undefined && track !== undefined) running.abilities = abilitiesOf(track);
    this.events.cameras(cameras, current);
    const best = !this.#front && this.wish.chosen === "" && running !== undefined ? bestCamera(cameras) : null;
    if (best === null || best.id === current || best.id === this.wish.last || this.#stream?.getVideoTracks()[0] !== track) return;
    this.wish = { ...this.wish, last: best.id };
    await this.#reopen();
  }

  /** Open, and something keeps its picture away: it says so when that is over. */
  #isMuted(): boolean {
    return this.#stream?.getVideoTracks()[0]?.muted === true;
  }

  /** Lets go of the camera: this tab no longer scans. */
  close(): void {
    this.#wanted = this.#isLost = false;
    this.#drop();
    this.events.state("off");
  }

  #drop(): void {
    this.#run += 1;
    if (this.#stream !== null) letGo(this.#stream);
    this.#stream = null;
    this.#torch = false;
  }

  /** Closes the camera and ends the decoder. */
  end(): void {
    this.close();
    clearInterval(this.#looking);
    document.removeEventListener("visibilitychange", this.#playOn);
    this.#decoder.terminate();
  }

  /** Somebody touched the screen or pressed a key: full speed again, and a picture that stands still runs on. */
  wake(): void {
    this.#lastActivity = performance.now();
    this.#playOn();
  }

  /** A lock, a call or a refused start leaves the video paused, and nobody says so. */
  readonly #playOn = (): void => {
    const video = this.#video;
    if (document.visibilityState !== "visible") return;
    if (this.#isLost) void this.#again();
    else if (this.#stream !== null && video?.paused === true) void video.play().catch(() => {});
  };

  /** Looks whether the picture goes on, and begins anew where it does not. */
  #look(): void {
    const visible = document.visibilityState === "visible";
    const playing = this.#stream !== null && this.#video?.isConnected === true && !this.#video.paused && !this.#isMuted();
    const expected = visible && this.#wanted && !this.#opening && (playing || this.#isLost);
    if (this.#watch.isFrozen(performance.now(), expected)) void this.#again();
  }

  /** The camera was taken away, or stands still: another is asked for. Where there is none it is tried again later. */
  async #again(): Promise<void> {
    if (!this.#wanted || this.#opening) return;
    this.#drop();
    this.events.torch(false);
    this.events.state("lost");
    this.#isLost = true;
    // Whoever looks at another app gets no camera: it is asked for when the page is seen again.
    if (document.visibilityState !== "visible") return;
    if (await this.#begin()) this.events.restarted();
  }

  /** Enlarges the picture; resolves to how far it is now. */
  async setZoom(factor: number): Promise<Zoom | null> {
    const track = this.#stream?.getVideoTracks()[0];
    if (track === undefined || this.#zoom === null) return null;
    try {
      await track.applyConstraints({ advanced: [{ zoom: factor } as MediaTrackConstraintSet] });
      this.#zoom = { ...this.#zoom, factor };
    } catch {
      // It stays as it is; the button shows that.
    }
    return this.#zoom;
  }

  /** Switches the lamp; resolves to what it is now. */
  async toggleTorch(): Promise<boolean> {
    const track = this.#stream?.getVideoTracks()[0];
    if (track === undefined || !hasTorch(track)) return false;
    const on = !this.#torch;
    try {
      await track.applyConstraints({ advanced: [{ torch: on } as MediaTrackConstraintSet] });
      this.#torch = on;
    } catch {
      // The lamp stays as it is; the button shows that.
    }
    return this.#torch;
  }

  async #attach(video: HTMLVideoElement): Promise<void> {
    if (video.srcObject !== this.#stream) video.srcObject = this.#stream;
    try {
      await video.play();
    } catch {
      // iOS refuses to play before the first tap; the frame loop starts with the first frame, whenever it comes.
    }
    this.events.state(this.#isMuted() ? "muted" : "live");
    this.#run += 1;
    this.#next(video, this.#run);
  }

  #next(video: HTMLVideoElement, run: number): void {
    const step = () => {
      if (run !== this.#run || video !== this.#video) return;
      this.#next(video, run);
      this.#watch.frame(performance.now());
      void this.#offer(video);
    };
    if ("requestVideoFrameCallback" in video) video.requestVideoFrameCallback(step);
    else requestAnimationFrame(step);
  }

  async #offer(video: HTMLVideoElement): Promise<void> {
    const now = performance.now();
    const idle = now - this.#lastActivity > IDLE_AFTER_MS;
    if (this.#busy || video.videoWidth === 0 || (idle && now - this.#lastFrame < IDLE_FRAME_MS)) return;
    this.#busy = true;
    this.#lastFrame = now;
    try {
      const frame = typeof VideoFrame === "function" ? new VideoFrame(video) : await createImageBitmap(video);
      this.#decoder.postMessage({ kind: "frame", frame } satisfies ToDecoder, [frame]);
      if (this.#failures.read()) this.events.fault(null);
    } catch (error) {
      this.#busy = false;
      // Mostly the video has no picture yet, or just lost it.
      const fault = video.readyState < video.HAVE_CURRENT_DATA ? null : this.#failures.failed(error);
      if (fault !== null) this.events.fault(fault);
    }
  }

  #onDecoder(message: FromDecoder): void {
    switch (message.kind) {
      case "ready":
        this.#busy = false;
        return;
      case "fault":
        this.events.fault(message.fault);
        return;
      case "reads":
        this.events.fault(null);
        return;
      case "done":
        this.#busy = false;
        if (message.found) this.wake();
        return;
      case "crowd":
        this.events.crowd();
        return;
    }
  }
}

/** What we end ourselves is no news. */
function letGo(stream: MediaStream): void {
  for (const track of stream.getTracks()) {
    track.onended = track.onmute = track.onunmute = null;
    track.stop();
  }
}

/** What a camera says of itself, also one that does not run (Chromium). */
function kindOf(device: MediaDeviceInfo): CameraKind {
  const kind: CameraKind = { id: device.deviceId, label: device.label };
  const abilities = "getCapabilities" in device ? abilitiesOf(device as unknown as MediaStreamTrack) : undefined;
  return abilities === undefined ? kind : { ...kind, abilities };
}

function abilitiesOf(source: Pick<MediaStreamTrack, "getCapabilities">): NonNullable<CameraKind["abilities"]> {
  return (source.getCapabilities?.() ?? {}) as NonNullable<CameraKind["abilities"]>;
}

function zoomOf(track: MediaStreamTrack | undefined): Zoom | null {
  const range = (track?.getCapabilities?.() as { zoom?: { min: number; max: number } } | undefined)?.zoom;
  if (range === undefined || range.max < 1.5) return null;
  return { factor: (track?.getSettings() as { zoom?: number }).zoom ?? 1, most: range.max };
}

function hasTorch(track: MediaStreamTrack | undefined): boolean {
  // The list of supported constraints says yes even without a lamp; the track itself knows.
  const capabilities = track?.getCapabilities?.() as { torch?: boolean } | undefined;
  return capabilities?.torch === true;
}

function stateOf(error: unknown): CameraState {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") return "denied";
  if (name === "NotReadableError" || name === "AbortError") return "busy";
  return "none";
}
