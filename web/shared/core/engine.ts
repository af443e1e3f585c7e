/**
 * The inputs and outputs of the scanner engine, as JSON.
 *
 * This file copies the types of `crates/core/src/wire/engine.rs` and `engine/shown.rs`, field by field. Those files are the source, and
 * a test compares them with this one. Times (`Timestamp`) are RFC 3339 in UTC; a name that ends in `_ms` is in milliseconds.
 */

export type Timestamp = string;
export type Direction = "in" | "out" | "both";
export type Method = "qr" | "manual" | "import";
export type ScanKind = "entry" | "exit" | "revert" | "headcount";
/** The classes of people without a ticket whom staff count. */
export type PersonClass = "staff" | "crew" | "child" | "other";
/** `change`: people without a ticket who came in; a `delta` below zero: who went out. `recount`: the number of all people inside. */
export type Headcount = { change: { class: PersonClass; delta: number } } | { recount: { inside: number } };
export type Outcome = "valid" | "duplicate" | "invalid" | "gate_access_denied" | "expired";

export type EventStatus = "draft" | "live" | "ended" | "archived";

/** The verdict screens (`crates/core/src/decide.rs`, `Screen`). */
export type Screen =
  | "admit"
  | "admit_party"
  | "exit"
  | "already_in"
  | "check"
  | "refuse"
  | "wrong_place"
  | "wrong_time"
  | "ended"
  | "not_in_list"
  | "not_a_ticket"
  | "full"
  | "same_ticket";

/** The clocks at the time of an input, and fresh randomness. */
export interface Now {
  wall_ms: number;
  mono_ms: number;
  /** 32 fresh random bytes. */
  random: number[];
}

/** A row of the journal, numbered from 1 without gaps. Only the engine reads its text. */
export interface Row {
  n: number;
  text: string;
}

export type Input =
  | { type: "start"; session_id: string; rows: Row[]; app_version: string; device_type: DeviceType }
  | { type: "cache"; key: string }
  | { type: "started" }
  | { type: "pair"; code: string; name: string }
  | { type: "ask_pairing"; name: string }
  | { type: "cancel_pairing" }
  | { type: "code"; text: string; other?: string; method: Method }
  | { type: "search"; text: string }
  | { type: "guest"; ticket_id: string }
  | { type: "count"; scan_id: string; count: number }
  | { type: "override"; scan_id: string; pin: string; by: string; reason: string; count: number }
  | { type: "booking"; scan_id: string; ticket_ids: string[] }
  | { type: "walk_in"; name: string; zone: string; party: number; pin: string }
  | { type: "headcount"; headcount: Headcount }
  | { type: "undo"; scan_id: string | null; keep: number }
  | { type: "direction"; direction: Direction }
  | { type: "operator"; name: string }
  /** Moves the device to another gate: one of the view's `gates`. */
  | { type: "gate"; gate_id: string }
  /** Checks the staff PIN. The effect `pin_ok` or `pin_refused` follows. */
  | { type: "pin"; pin: string }
  | { type: "appended"; append: number }
  | { type: "append_failed"; append: number; reason: string }
  | { type: "save_failed"; key: string }
  | { type: "response"; request: number; status: number; headers: [string, string][]; sent_mono_ms: number }
  | { type: "failed"; request: number }
  | { type: "online" }
  | { type: "tick" }
  | { type: "sync_now" }
  | { type: "battery"; percent: number }
  | { type: "hide_problem"; scan_id: string }
  | { type: "export" };

export type DeviceType = "ipad" | "phone" | "desktop" | "terminal";

export type Effect =
  | { type: "append"; append: number; rows: Row[] }
  /** `sealed`: the text holds guests' names, and is stored encrypted under a key that nobody can read out of the device. */
  | { type: "save"; key: string; text: string | null; sealed?: boolean }
  /** Replaces the row with this `n` and removes every row with a lower `n`. No input reports that it is done. */
  | { type: "purge"; row: Row }
  | { type: "forget"; key: string }
  | SendEffect
  | { type: "cancel"; request: number }
  | { type: "wake"; at_mono_ms: number }
  | { type: "show"; verdict: VerdictView }
  | { type: "undone"; scan_id: string; count: number }
  | { type: "view"; view: View }
  | { type: "found"; text: string; guests: FoundGuest[]; more: boolean }
  | { type: "pin_refused"; tries_left: number; paused_until_mono_ms: number | null }
  | { type: "pin_ok" }
  | { type: "refused"; code: RefusedCode; message: string }
  | { type: "export"; name: string; text: string }
  | { type: "wipe_caches" };

export interface SendEffect {
  type: "send";
  request: number;
  method: string;
  path: string;
  headers: [string, string][];
  body: string | null;
  timeout_ms: number;
  /** The origin of the server, if the pairing link named one. Absent: the origin of the page. */
  server?: string;
  /** True if a person waits for the verdict that this request asks about. Absent otherwise. */
  urgent?: boolean;
}

export type RefusedCode =
  | "nothing_to_undo"
  | "not_paired"
  | "bad_pairing_code"
  | "no_list"
  | "no_pin"
  | "unknown_scan"
  | "unknown_guest"
  | "no_walk_ins"
  | "bad_name"
  | "bad_zone"
  | "needs_pin"
  | "bad_count"
  | "bad_direction"
  | "bad_gate"
  | "busy"
  | "storage_blocked"
  | "pairing_failed";

/** A verdict as the screen needs it. */
export interface VerdictView {
  screen: Screen;
  scan_id: string | null;
  kind: ScanKind;
  outcome: Outcome;
  reason: string | null;
  opened: boolean;
  count: number;
  may_admit: number;
  entry_limit: number;
  already_in: number;
  ticket_id: string | null;
  short_code: string;
  zone: string | null;
  name: string | null;
  note?: string;
  flag?: string;
  /** The guest's own fields that the organiser chose for verdicts. Absent if there are none. */
  fields?: FieldView[];
  right_gates: string[];
  valid_from: Timestamp | null;
  expires_at: Timestamp | null;
  last_entry: LastEntryView | null;
  at: Timestamp;
  decided_by: "device" | "server";
  list_expired: boolean;
  manifest_version: number;
  list_at: Timestamp | null;
  can_override: boolean;
  overridden: boolean;
  can_undo: boolean;
  same_ticket_ms: number | null;
  /** True for a scan that counts nothing because the event was a draft. */
  practice?: boolean;
  /** On the screen `full`: the number of persons for whom the area still has room. */
  places_left?: number;
  /** The other tickets of this ticket's booking. */
  booking?: Booking;
}

/** One of the guest's own fields. */
export interface FieldView {
  label: string;
  value: string;
}

/** The other tickets of a booking. */
export interface Booking {
  /** The tickets that can be admitted together now. */
  others: BookingTicket[];
  already_in: number;
  /** The number of tickets that are refused here, or that staff must check. Each needs a scan of its own. */
  by_themselves: number;
  /** The number of persons for whom the area still has room. Absent if there is room for all `others`. */
  places_left?: number;
  /** After the others were admitted together: the result for each ticket. */
  became?: BookingTicket[];
}

export interface BookingTicket {
  ticket_id: string;
  name: string | null;
  zone: string;
  /** In `others`: the number of persons who may go in. In `became`: the number who went in. */
  persons: number;
  scan_id?: string;
  screen?: Screen;
}

export interface LastEntryView {
  at: Timestamp;
  gate: string;
  /** Null if only the server knows of the entry. */
  device_id: string | null;
  /** The device's name. Empty if this device does not know it. */
  device: string;
  own: boolean;
}

export type Phase = "unpaired" | "pairing" | "first_sync" | "ready" | "revoked" | "key_unknown" | "blocked";

/** The state of the scanner. */
export interface View {
  phase: Phase;
  message: string | null;
  /** While this phone waits for an organiser's approval: the token that it shows. */
  pairing_code?: string;
  device_id: string | null;
  device_name: string;
  event_id: string | null;
  event_name: string;
  gate_id: string | null;
  gate_name: string;
  gate_direction: Direction | null;
  direction: Direction;
  /** The gates to which this device may be moved. Absent without a list. */
  gates?: GateView[];
  /** True if somebody removed the gate of this device: the list no longer has it. */
  gate_gone?: boolean;
  operator: string;
  list: ListView | null;
  online: boolean;
  captive: boolean;
  /** The server keeps this device's uploads uncounted until an organiser accepts them. Scanning goes on. */
  suspended: boolean;
  /** When an organiser last made this device ring. Absent unless that was a moment ago. */
  rung_at?: Timestamp;
  unsent: number;
  sending: number;
  retry_in_ms: number | null;
  last_sync_at: Timestamp | null;
  /** Server time minus wall clock, milliseconds. Null until the app has exchanged times with the server since its start. */
  clock_offset_ms: number | null;
  clock_uncertainty_ms: number | null;
  own_admitted: number;
  names: NamesView;
  /** The event's status in the list. In a draft scans are practice; an event that ended admits nobody. Absent without a list. */
  event_status?: EventStatus;
  /** Guests without a ticket at this gate. Absent if staff may not add any here. */
  walk_ins?: WalkInsView;
  /** People without a ticket whom this device counted. Absent until the device is paired. */
  headcounts?: HeadcountsView;
  /** The offsets of the event's time zone. Absent until a list has them. */
  clock?: ZoneClock;
  /** Kinds of codes that cameras read in addition to QR. Absent if there are none. */
  barcode_kinds?: BarcodeKind[];
  /** The name that the screen shows for each zone. A zone that is not here is shown as it is. Absent if there are no names. */
  zone_names?: Record<string, string>;
  has_pin: boolean;
  problems: Problem[];
  history: HistoryRow[];
}

/** Guests without a ticket whom staff at this gate may add. */
export interface WalkInsView {
  zones: string[];
  /** The number of persons added at all doors, as far as this device knows. */
  added: number;
  /** The largest number of such persons at the event. Null: there is no limit. */
  number: number | null;
  /** The number of persons for whom the area behind the gate has room. Absent if the gate has no capacity. */
  places_left?: number;
}

/** People without a ticket whom this device counted, by class: those who came in minus those who went out. */
export interface HeadcountsView extends Record<PersonClass, number> {
  /** The newest recount of this device that nobody undid. */
  recount?: { scan_id: string; at: Timestamp; gate: string; inside: number };
  /** The number of persons in the area behind the gate, as far as this device knows. */
  area_inside?: number;
}

/** A gate to which this device may be moved. */
export interface GateView {
  id: string;
  name: string;
  direction: Direction;
}

/** Kinds of codes other than QR (`crates/core/src/event.rs`). */
export type BarcodeKind = "code_128" | "pdf_417" | "aztec" | "data_matrix" | "ean_13" | "codabar";

/** The offsets of the event's time zone, in seconds ahead of UTC. Each holds from its moment until the next one. */
export interface ZoneClock {
  zone: string;
  offsets: { from: Timestamp; offset_s: number }[];
}

/** Whether this device holds guests' names. `off`: the gate does not allow them. */
export type NamesView = { state: "off" } | { state: "loading" } | { state: "held"; guests: number };

/** A guest whom a search found, with the state of the ticket as far as this device knows. */
export interface FoundGuest {
  ticket_id: string;
  name: string;
  party_size: number;
  note: string | null;
  flag: string | null;
  zone: string | null;
  already_in: number;
  may_admit: number;
  /** A reason of `decide` if nobody of the ticket may go in. Null otherwise. */
  reason: string | null;
  /** The number of other tickets in this guest's booking. */
  booking: number;
  /** True if the text did not find this guest, who is shown because a guest of the same booking was found. */
  of_booking?: boolean;
}

export interface ListView {
  version: number;
  tickets: number;
  generated_at: Timestamp;
  expires_at: Timestamp;
  expired: boolean;
  /** When the server last said that this list is the newest. The age of the list counts from here. */
  checked_at: Timestamp;
  /** The version of a newer list, if the server named one. Null otherwise. */
  newer: number | null;
}

export interface Problem {
  scan_id: string;
  reason: string;
  kept: boolean;
  at: Timestamp;
}

export interface HistoryRow {
  scan_id: string;
  kind: ScanKind;
  screen: Screen;
  at: Timestamp;
  count: number;
  opened: boolean;
  /** True for a scan that counts nothing because the event was a draft. */
  practice?: boolean;
  overridden: boolean;
  reverted: number;
  short_code: string;
  ticket_id: string | null;
  /** The reason of the refusal. Absent if somebody was let in. */
  reason?: string;
  /** Only present if `kind` is `headcount`. */
  headcount?: Headcount;
  sync: "waiting" | "sent" | "refused" | "held";
}

/** The engine in WASM. Inputs and effects are JSON; the bytes of a body are passed separately. */
export interface EngineDoor {
  /** Takes an `Input`, its body and a `Now`; gives an array of `Effect`. Throws on text it can't read. */
  handle(inputJson: string, body: Uint8Array | undefined, nowJson: string): string;
}
