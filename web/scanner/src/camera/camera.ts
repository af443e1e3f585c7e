import { bestCamera, type CameraKind } from "./choice.ts";
import { Failures } from "./failures.ts";
import type { Format } from "./formats.ts";
import type { FromDecoder, ReaderFault, ToDecoder } from "./messages.ts";
import { FrameWatch } from "./watch.ts";

/** `muted`: the camera is open, but a call or another app takes its picture. */
export type CameraState = "off" | "starting" | "live" | "muted" | "denied" | "none" | "lost" | "busy";

export interface CameraEvents {
  state(state: CameraState): void;
  /** Two codes are in view. */
  crowd(): void;
  torch(available: boolean): void;
  /** How far the picture is enlarged and can be. Null: this camera cannot enlarge. */
  zoom(zoom: Zoom | null): void;
  /** The cameras of this device and the one that runs. The browser names them only after a person allowed a camera. */
  cameras(all: CameraKind[], current: string): void;
  /** The picture had stopped or stood still, and runs again. */
  restarted(): void;
  /** Why no code can be read. Null: codes are read again. */
  fault(fault: ReaderFault | null): void;
}

/** The enlargement of the picture, as a factor, and the largest factor. */
export interface Zoom {
  factor: number;
  most: number;
}

/** The camera to open, by the browser's id for it. Both texts may be empty. */
export interface Wish {
  /** The camera that a person chose. Empty: nobody chose one. */
  chosen: string;
  /** The camera that was the best one the last time. Empty: not known. */
  last: string;
}

/** After this time without a code the camera reads only four frames a second, because phones get hot (experience §3). */
const IDLE_AFTER_MS = 2 * 60_000;
const IDLE_FRAME_MS = 250;
/** The interval at which the app checks that new frames come, milliseconds. */
const LOOK_EVERY_MS = 1_000;

/**
 * One camera stream for the whole shift, and the loop that sends its frames to the decoder worker. At most one frame is on its
 * way, so a slow phone drops frames and does not queue them.
 */
export class Camera {
  #stream: MediaStream | null = null;
  #video: HTMLVideoElement | null = null;
  #decoder: Worker;
  /** The kinds of codes that the decoder was told last. */
  #formats = "";
  #busy = true;
  #lastFrame = 0;
  #lastActivity = performance.now();
  #run = 0;
  #torch = false;
  #front = false;
  #zoom: Zoom | null = null;
  /** True while this tab scans. If something takes the camera away, the app opens one again. */
  #wanted = false;
  #opening = false;
  /** The camera was open and is gone. The app tries to open one again as long as `#wanted` holds. */
  #isLost = false;
  #watch = new FrameWatch();
  /** Failures to take a frame out of the video. The decoder counts failures to read one. */
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

  /** Sets the kinds of codes to read in addition to QR. They come from the event's list and from this device's settings. */
  setFormats(formats: readonly Format[]): void {
    // Each view of the engine leads to this call. The decoder is told only of a change.
    if (String(formats) === this.#formats) return;
    this.#formats = String(formats);
    // A copy, because the array of a Svelte state is a proxy, which `postMessage` cannot send.
    this.#decoder.postMessage({ kind: "formats", formats: [...formats] } satisfies ToDecoder);
  }

  /** Opens the camera that a person chose. Empty: the best one for tickets. */
  async use(chosen: string): Promise<void> {
    this.wish = { ...this.wish, chosen };
    if (this.#stream !== null) await this.#reopen();
  }

  /** Chooses the front camera, which sees people before the screen, or a rear one. */
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

  /** Opens a camera, and says whether one runs now. If a camera was lost and none can be opened, `#look` tries again later. */
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
      // The camera was closed meanwhile, because another tab scans now.
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
        // `none`: the camera is gone, or the browser gave its cameras new ids. Any other error would come with every camera.
        if (stateOf(error) !== "none") throw error;
      }
    }
    return navigator.mediaDevices.getUserMedia({ audio: false, video: { facingMode: { ideal: "environment" }, ...size } });
  }

  /** Changes to another camera if that reads tickets better. The others have names only after a person allowed a camera. */
  async #compare(track: MediaStreamTrack | undefined): Promise<void> {
    const current = track?.getSettings?.().deviceId ?? "";
    let cameras: CameraKind[];
    try {
      cameras = (await navigator.mediaDevices.enumerateDevices()).filter((device) => device.kind === "videoinput" && device.deviceId !== "").map(kindOf);
    } catch {
      return;
    }
    const running = cameras.find((camera) => camera.id === current);
    // The running camera's track gives its abilities, which some browsers do not give for other cameras.
    if (running !== undefined && track !== undefined) running.abilities = abilitiesOf(track);
    this.events.cameras(cameras, current);
    const best = !this.#front && this.wish.chosen === "" && running !== undefined ? bestCamera(cameras) : null;
    if (best === null || best.id === current || best.id === this.wish.last || this.#stream?.getVideoTracks()[0] !== track) return;
    this.wish = { ...this.wish, last: best.id };
    await this.#reopen();
  }

  /** Whether the camera is open, but a call or another app takes its picture. The event `unmute` reports the end of that. */
  #isMuted(): boolean {
    return this.#stream?.getVideoTracks()[0]?.muted === true;
  }

  /** Closes the camera, because this tab no longer scans. */
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

  /** Called when somebody touches the screen or presses a key. Frames are read at full speed again, and a paused video plays. */
  wake(): void {
    this.#lastActivity = performance.now();
    this.#playOn();
  }

  /** Plays a paused video again. A screen lock, a call or a refused start pauses it without any event. */
  readonly #playOn = (): void => {
    const video = this.#video;
    if (document.visibilityState !== "visible") return;
    if (this.#isLost) void this.#again();
    else if (this.#stream !== null && video?.paused === true) void video.play().catch(() => {});
  };

  /** Checks that new frames come, and opens a camera again if none do. */
  #look(): void {
    const visible = document.visibilityState === "visible";
    const playing = this.#stream !== null && this.#video?.isConnected === true && !this.#video.paused && !this.#isMuted();
    const expected = visible && this.#wanted && !this.#opening && (playing || this.#isLost);
    if (this.#watch.isFrozen(performance.now(), expected)) void this.#again();
  }

  /** Opens a camera again after the last one was taken away or stood still. If none can be opened, `#look` tries again later. */
  async #again(): Promise<void> {
    if (!this.#wanted || this.#opening) return;
    this.#drop();
    this.events.torch(false);
    this.events.state("lost");
    this.#isLost = true;
    // A hidden page gets no camera. `#playOn` asks for one when the page is visible again.
    if (document.visibilityState !== "visible") return;
    if (await this.#begin()) this.events.restarted();
  }

  /** Enlarges the picture, and gives the enlargement that it then has. */
  async setZoom(factor: number): Promise<Zoom | null> {
    const track = this.#stream?.getVideoTracks()[0];
    if (track === undefined || this.#zoom === null) return null;
    try {
      await track.applyConstraints({ advanced: [{ zoom: factor } as MediaTrackConstraintSet] });
      this.#zoom = { ...this.#zoom, factor };
    } catch {
      // The enlargement stays as it was, and the button shows that.
    }
    return this.#zoom;
  }

  /** Switches the lamp, and says whether it is then on. */
  async toggleTorch(): Promise<boolean> {
    const track = this.#stream?.getVideoTracks()[0];
    if (track === undefined || !hasTorch(track)) return false;
    const on = !this.#torch;
    try {
      await track.applyConstraints({ advanced: [{ torch: on } as MediaTrackConstraintSet] });
      this.#torch = on;
    } catch {
      // The lamp stays as it was, and the button shows that.
    }
    return this.#torch;
  }

  async #attach(video: HTMLVideoElement): Promise<void> {
    if (video.srcObject !== this.#stream) video.srcObject = this.#stream;
    try {
      await video.play();
    } catch {
      // iOS refuses to play before the first tap. The frame loop starts with the first frame, however late that comes.
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
      // The usual cause is that the video has no picture yet, or just lost it. That is no failure.
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

/** Ends a stream. Its events are removed first, so that this end is not taken for a lost camera. */
function letGo(stream: MediaStream): void {
  for (const track of stream.getTracks()) {
    track.onended = track.onmute = track.onunmute = null;
    track.stop();
  }
}

/** The label and abilities of a camera. Chromium also gives the abilities of a camera that does not run. */
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
  // `getSupportedConstraints` lists `torch` also on devices without a lamp. The track's capabilities tell the truth.
  const capabilities = track?.getCapabilities?.() as { torch?: boolean } | undefined;
  return capabilities?.torch === true;
}

function stateOf(error: unknown): CameraState {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") return "denied";
  if (name === "NotReadableError" || name === "AbortError") return "busy";
  return "none";
}
