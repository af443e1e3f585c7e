import type { View } from "../../../shared/core/engine.ts";
import { words } from "../../../shared/words/scanner/index.ts";
import { Camera, type CameraState, type Zoom } from "../camera/camera.ts";
import type { CameraKind } from "../camera/choice.ts";
import { allFormats, type ExtraFormat, formatsOf } from "../camera/formats.ts";
import type { ReaderFault } from "../camera/messages.ts";
import type { Settings } from "./settings.ts";
import { CROWD_MS, nextZoom } from "./showing.ts";

/** The part of the scanner that this module uses. */
export interface CameraHost {
  readonly settings: Settings;
  readonly view: View | null;
  readonly tab: string;
  setSettings(change: Partial<Settings>): void;
  say(text: string): void;
  announce(text: string): void;
}

/** The state of the camera for the screens, and the actions that staff have for it. */
export class CameraControl {
  state = $state<CameraState>("off");
  fault = $state.raw<ReaderFault | null>(null);
  torch = $state.raw<{ available: boolean; on: boolean }>({ available: false, on: false });
  zoom = $state.raw<Zoom | null>(null);
  /** The cameras of this device and the one that runs. Empty until a person allows a camera. */
  choice = $state.raw<{ all: CameraKind[]; current: string }>({ all: [], current: "" });
  /** Two codes are in view. */
  crowd = $state(false);
  /** Whether the camera has read a code since the app was opened. */
  hasRead = $state(false);

  #camera: Camera | null = null;
  #crowdTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: CameraHost) {}

  /** Whether a camera runs, or is likely to run in a moment. */
  get isThere(): boolean {
    return !["none", "denied"].includes(this.state);
  }

  /** The kinds of codes that the event adds to QR. */
  get eventFormats(): ExtraFormat[] {
    return formatsOf(this.host.view?.barcode_kinds);
  }

  /** `engine` is the port on which the engine worker listens for codes. */
  start(engine: MessagePort): void {
    const { camera: chosen, lastCamera: last } = this.host.settings;
    this.#camera = new Camera(engine, {
      state: (state) => (this.state = state),
      crowd: () => this.#onCrowd(),
      torch: (available) => (this.torch = { available, on: false }),
      zoom: (zoom) => (this.zoom = zoom),
      cameras: (all, current) => this.#onCameras(all, current),
      restarted: () => this.host.say(words.camera.restarted),
      fault: (fault) => (this.fault = fault),
    }, { chosen, last });
    this.readFormats();
  }

  end(): void {
    this.#camera?.end();
    this.fault = null;
  }

  open(video: HTMLVideoElement): void {
    if (this.host.tab === "writer") void this.#camera?.open(video);
  }

  close(): void {
    this.#camera?.close();
  }

  /** Called when somebody touches the device: frames are read at full speed again. */
  wake(): void {
    this.#camera?.wake();
  }

  /** Chooses the front camera for a kiosk, where guests stand before the screen, or a rear one. */
  face(front: boolean): void {
    this.#camera?.face(front);
  }

  /** Opens the camera that a person chose. Empty: the best one for tickets. */
  use(id: string): void {
    this.host.setSettings({ camera: id });
    void this.#camera?.use(id);
  }

  async toggleTorch(): Promise<void> {
    this.torch = { ...this.torch, on: (await this.#camera?.toggleTorch()) ?? false };
  }

  /** Sets the next step of enlargement. After the last step the picture has its normal size again. */
  async nextZoom(): Promise<void> {
    if (this.zoom !== null) this.zoom = (await this.#camera?.setZoom(nextZoom(this.zoom))) ?? this.zoom;
  }

  useFormats(formats: ExtraFormat[]): void {
    this.host.setSettings({ formats });
    this.readFormats();
  }

  /** Tells the camera which kinds of codes to read: those of the event and those of this device's settings. */
  readFormats(): void {
    this.#camera?.setFormats(allFormats(this.eventFormats, this.host.settings.formats));
  }

  #onCameras(all: CameraKind[], current: string): void {
    this.choice = { all, current };
    const { camera, lastCamera } = this.host.settings;
    if (camera === "" && current !== "" && current !== lastCamera) this.host.setSettings({ lastCamera: current });
  }

  #onCrowd(): void {
    if (!this.crowd) this.host.announce(words.app.oneTicket);
    this.crowd = true;
    clearTimeout(this.#crowdTimer);
    this.#crowdTimer = setTimeout(() => (this.crowd = false), CROWD_MS);
  }
}
