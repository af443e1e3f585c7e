/**
 * What goes into the scanner engine and what comes out, as JSON.
 *
 * A mirror of `crates/core/src/wire/engine.rs` and `engine/shown.rs`, field by field: that file is the source, this one only gives its
 * shapes to TypeScript. Times (`Timestamp`) are RFC 3339 in UTC; `_ms` are milliseconds.
 */

export type Timestamp = string;
export type Direction = "in" | "out" | "both";
export type Method = "qr" | "manual" | "import";
export type ScanKind = "entry" | "exit" | "revert" | "headcount";
/** Whom staff count without a ticket. */
export type PersonClass = "staff" | "crew" | "child" | "other";
/** People without a ticket who came in (below zero, went out), or everybody inside. */
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

/** The clocks and randomness at an input. */
export interface Now {
  wall_ms: number;
  mono_ms: number;
  /** 32 fresh random bytes. */
  random: number[];
}

/** A row of the journal, numbered from 1 without holes; only the engine reads its text. */
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
  /** To another gate of the event, one of the view's. */
  | { type: "gate"; gate_id: string }
  /** Staff show that they know the PIN: `pin_ok` or `pin_refused` follows. */
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
  /** `sealed`: it holds guests' names; kept only under a key that cannot be read out of the device. */
  | { type: "save"; key: string; text: string | null; sealed?: boolean }
  /** Rows up to this one go, and it takes the place of the last of them. Nobody waits for it. */
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
  /** Origin of the paired server where the pairing link named one; absent: the page's own. */
  server?: string;
  /** A person waits for the verdict that this asks about; absent: nobody does. */
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
  /** The guest's fields that the organiser wants shown; absent without any. */
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
  /** It counts nothing: the event was a draft. */
  practice?: boolean;
  /** For `full`: how many more the area holds. */
  places_left?: number;
  /** The other tickets of its booking. */
  booking?: Booking;
}

/** One of the guest's own fields. */
export interface FieldView {
  label: string;
  value: string;
}

/** The other tickets of a booking. */
export interface Booking {
  /** Who may go in at once. */
  others: BookingTicket[];
  already_in: number;
  /** Refused here, or to be checked: each needs a scan of its own. */
  by_themselves: number;
  /** How many more the area holds, where the others are more. */
  places_left?: number;
  /** What each ticket became that was let in with the others. */
  became?: BookingTicket[];
}

export interface BookingTicket {
  ticket_id: string;
  name: string | null;
  zone: string;
  /** Who may go in; of what it became, who went in. */
  persons: number;
  scan_id?: string;
  screen?: Screen;
}

export interface LastEntryView {
  at: Timestamp;
  gate: string;
  /** Null where only the server knows of the entry. */
  device_id: string | null;
  /** How staff call it; empty where that is not known here. */
  device: string;
  own: boolean;
}

export type Phase = "unpaired" | "pairing" | "first_sync" | "ready" | "revoked" | "key_unknown" | "blocked";

/** The state of the scanner. */
export interface View {
  phase: Phase;
  message: string | null;
  /** While this phone waits for an organiser's approval: the token to show them. */
  pairing_code?: string;
  device_id: string | null;
  device_name: string;
  event_id: string | null;
  event_name: string;
  gate_id: string | null;
  gate_name: string;
  gate_direction: Direction | null;
  direction: Direction;
  /** Gates of the event that this device may be moved to; absent without a list. */
  gates?: GateView[];
  /** The list has no such gate as this device stands at: it was removed. */
  gate_gone?: boolean;
  operator: string;
  list: ListView | null;
  online: boolean;
  captive: boolean;
  /** The server holds this device's uploads until the organiser counts them; scanning goes on. */
  suspended: boolean;
  /** When an organiser last looked for this device, if that was a moment ago. */
  rung_at?: Timestamp;
  unsent: number;
  sending: number;
  retry_in_ms: number | null;
  last_sync_at: Timestamp | null;
  /** Server time − wall clock, milliseconds; null before this start's first exchange. */
  clock_offset_ms: number | null;
  clock_uncertainty_ms: number | null;
  own_admitted: number;
  names: NamesView;
  /** By the list: a draft's scans are practice, an event that ended admits nobody. Absent without a list. */
  event_status?: EventStatus;
  /** What staff here may add; absent where nothing. */
  walk_ins?: WalkInsView;
  /** What this device counted of people without a ticket. Absent until it is paired. */
  headcounts?: HeadcountsView;
  /** The clocks of the event's zone. Absent until a list says them. */
  clock?: ZoneClock;
  /** Kinds of codes that the event wants read by camera beside QR. Absent without any. */
  barcode_kinds?: BarcodeKind[];
  /** How staff call each zone; one that is not here is called by itself. Absent without any. */
  zone_names?: Record<string, string>;
  has_pin: boolean;
  problems: Problem[];
  history: HistoryRow[];
}

/** Guests without a ticket whom staff at this gate may add. */
export interface WalkInsView {
  zones: string[];
  /** Persons added at all doors, by what this device knows. */
  added: number;
  /** How many may be; null: no number. */
  number: number | null;
  /** In the area behind the gate, where it has a capacity. */
  places_left?: number;
}

/** People without a ticket whom this device counted: who came in, less who went out. */
export interface HeadcountsView extends Record<PersonClass, number> {
  /** The last recount of this device that was not undone. */
  recount?: { scan_id: string; at: Timestamp; gate: string; inside: number };
  /** Persons in the area behind the gate, as far as this device knows. */
  area_inside?: number;
}

/** A gate that a device may be moved to. */
export interface GateView {
  id: string;
  name: string;
  direction: Direction;
}

/** Kinds of codes beside QR (`crates/core/src/event.rs`). */
export type BarcodeKind = "code_128" | "pdf_417" | "aztec" | "data_matrix" | "ean_13" | "codabar";

/** The clocks of the event's zone: each offset, in seconds ahead of UTC, holds from its moment on. */
export interface ZoneClock {
  zone: string;
  offsets: { from: Timestamp; offset_s: number }[];
}

/** Guests' names on this device: only where the gate allows them. */
export type NamesView = { state: "off" } | { state: "loading" } | { state: "held"; guests: number };

/** A guest that a search found, and how they stand by what this device knows. */
export interface FoundGuest {
  ticket_id: string;
  name: string;
  party_size: number;
  note: string | null;
  flag: string | null;
  zone: string | null;
  already_in: number;
  may_admit: number;
  /** Why nobody may, one word of `decide`. */
  reason: string | null;
  /** Other tickets of their booking. */
  booking: number;
  /** Not found by the text: shown behind one of the same booking. */
  of_booking?: boolean;
}

export interface ListView {
  version: number;
  tickets: number;
  generated_at: Timestamp;
  expires_at: Timestamp;
  expired: boolean;
  /** When the server last said that this is the newest: its age counts from here. */
  checked_at: Timestamp;
  /** The version of a newer one that the server spoke of. */
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
  /** It counts nothing: the event was a draft. */
  practice?: boolean;
  overridden: boolean;
  reverted: number;
  short_code: string;
  ticket_id: string | null;
  /** Why its screen let nobody in. */
  reason?: string;
  /** Of the kind `headcount` alone. */
  headcount?: Headcount;
  sync: "waiting" | "sent" | "refused" | "held";
}

/** The engine as the WASM door gives it: JSON in, JSON out, a body's bytes beside. */
export interface EngineDoor {
  /** Takes an `Input`, its body and a `Now`; gives an array of `Effect`. Throws on text it can't read. */
  handle(inputJson: string, body: Uint8Array | undefined, nowJson: string): string;
}
