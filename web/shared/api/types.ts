/** The server's JSON, as `/openapi.json` describes it. Times are RFC 3339, UTC. */

export interface Listed<T> {
  items: T[];
  next_cursor: string | null;
}

export interface Session {
  user_id: string;
  email: string;
  name: string;
  role: "owner" | "manager" | "promoter" | "door" | "viewer";
  organization_id: string;
  organization_name: string;
}

export type EventStatus = "draft" | "live" | "ended" | "archived";
export type BarcodeKind = "code_128" | "pdf_417" | "aztec" | "data_matrix" | "ean_13" | "codabar";
export interface EventView {
  id: string;
  name: string;
  venue: string;
  time_zone: string;
  starts_at: string;
  ends_at: string;
  status: EventStatus;
  re_entry: "never" | "after_gap" | "after_exit" | "daily";
  min_gap_seconds: number;
  /** When the days of `daily` begin, by the clocks of the event's zone: "06:00". */
  day_starts_at: string;
  has_staff_pin: boolean;
  capacity: number | null;
  /** Persons whom staff may add at the doors in all. */
  walk_ins: number | null;
  /** Names of the guests' fields that a verdict shows, in this order. */
  verdict_fields: string[];
  /** Kinds of codes that cameras read beside QR. */
  barcode_kinds: BarcodeKind[];
}
/** The figures of an event and what is to be done before its doors open: `GET /events/{id}/overview`. */
export interface Overview {
  /** Persons. */
  expected: number;
  admitted: number;
  inside: number;
  capacity: number | null;
  guests: number;
  gates: { id: string; name: string }[];
  devices: number;
  devices_needed: number;
  /** Guests by where their newest pass is. */
  passes: { sent: number; waiting: number; refused: number };
  test_scans: number;
  /** Of a draft: persons whom practice scans of the last 12 hours let in. */
  practice_persons: number;
  has_staff_pin: boolean;
  open_incidents: number;
  mail_problem: { since: string; reason: string; next_at: string } | null;
  checklist: { key: ChecklistKey; state: "done" | "todo" | "warn" }[];
}
export type ChecklistKey = "event" | "gates" | "guests" | "phones" | "test_scan" | "staff_pin" | "open_doors";

/** An item of `GET /events`. */
export interface ListedEvent extends EventView {
  /** Persons. */
  expected: number;
  admitted: number;
  open_incidents: number;
}

export interface GateView {
  id: string;
  name: string;
  zones: string[];
  direction: "in" | "out" | "both";
  capacity: number | null;
  names_on_devices: boolean;
  /** Whether staff here may add guests who have no ticket. */
  walk_ins: boolean;
}

export interface TicketView {
  id: string;
  barcode: string | null;
  barcode_hash: string | null;
  /** Its code as people read it out: "K7QF-2M9D". */
  short_code: string | null;
  zone: string;
  gate_ids: string[];
  entry_limit: number;
  status: "active" | "used" | "voided" | "refunded";
  valid_from: string | null;
  expires_at: string | null;
  /** The number of the purchase it belongs to. */
  order_id: string | null;
  guest: { id: string; name: string; email: string | null; phone: string | null } | null;
  scan_count: number;
  /** Persons let in, within the limit and beyond it. */
  entered: number;
  over: number;
  /** Persons inside now, within the limit. */
  inside: number;
  scanned_at: string | null;
}

/** A guest, and where they stand. */
export interface GuestView {
  id: string;
  event_id: string;
  name: string;
  email: string | null;
  phone: string | null;
  party_size: number;
  note: string | null;
  flag: string | null;
  /** What else is kept of them, by name. */
  fields: Record<string, string>;
  external_id: string | null;
  guest_list_id: string | null;
  entry_type_id: string | null;
  ticket_id: string | null;
  created_at: string;
  updated_at: string;
  status: "pending" | "checked_in" | "no_show";
  /** Whether their ticket is good; `null` without one. */
  ticket_status: TicketView["status"] | null;
  /** Persons let in. */
  actual_count: number;
  /** Persons inside now. */
  inside: number;
  /** The newest entry, and the name of its gate. */
  last_at: string | null;
  last_gate: string | null;
  /** The number of the purchase their ticket belongs to. */
  order_id: string | null;
  /** Names, where there is an entry type or a guest list. */
  entry_type: string | null;
  guest_list: string | null;
  /** How the mail of their pass stands; `null` where they have their code from elsewhere. */
  mail: MailView | null;
}
/** `?state=`, `?mail=` and `?sort=` of the list of guests. */
export type GuestState = "inside" | "to_come" | "came" | "no_show" | "voided";
export type GuestMail = "refused" | "waiting" | "sent";
export type GuestSort = "name" | "last" | "added";
/** How many tickets stand where: `to_come` is active with nobody let in. */
export type TicketCounts = Record<"all" | "to_come" | "came" | "voided" | "refunded", number>;
/** How many guests stand where; `persons` is the sum of their party sizes, `expected` is persons whom valid tickets admit. */
export interface GuestCounts {
  all: number;
  inside: number;
  to_come: number;
  came: number;
  no_show: number;
  voided: number;
  mail_refused: number;
  mail_waiting: number;
  persons: number;
  expected: number;
  lists: { id: string; name: string; guests: number }[];
  entry_types: { id: string; name: string; guests: number }[];
}
export interface MailView {
  state: "sent" | "waiting" | "not_sent";
  /** Why it waits, or was not sent. */
  why: string | null;
  at: string | null;
}
export interface ShownGuest extends GuestView {
  ticket: TicketView | null;
  /** The pass page where guests reach it; `null` while there is none. */
  pass_url: string | null;
}

/** What became of a check-in from the office (`POST …/check-in`). */
export interface CheckInAnswer {
  /** Undoes it. */
  scan_id: string;
  outcome: "valid" | "duplicate" | "invalid" | "gate_access_denied" | "expired";
  reason: string | null;
  /** Whether the guest was let in. */
  opened: boolean;
  /** Persons let in by it. */
  persons: number;
  /** The entry before, and the name of its gate. */
  last_at: string | null;
  last_gate: string | null;
}

/** One moment of a guest's story. */
export interface MomentView {
  at: string;
  what: "added" | "changed" | "received" | "row_deleted" | "resent" | "remade" | "opened" | "entered" | "refused" | "left" | "undone";
  fields: string[];
  outcome: string | null;
  by: string | null;
  gate: string | null;
  device: string | null;
  persons: number;
  by_hand: boolean;
  counts: boolean;
}

export interface GuestListView {
  id: string;
  name: string;
  promoter_id: string | null;
  created_at: string;
}

export interface MemberView {
  id: string;
  email: string;
  name: string;
  role: Session["role"];
}

export interface EntryTypeView {
  id: string;
  name: string;
  zone: string;
  /** Its own re-entry mode; null where the event's holds. */
  re_entry: EventView["re_entry"] | null;
  /** The limit of a ticket holds at each gate by itself. */
  per_gate: boolean;
  /** Persons that a ticket lets in in all. */
  uses: number | null;
}

/** A run: one pass on its way to one guest. */
export interface RunView {
  id: string;
  kind: string;
  guest_id: string;
  state: "open" | "done" | "gave_up";
  /** The step that failed last. */
  step: string | null;
  tries: number;
  problem: string | null;
  /** Of a run that is done: what there is to say about it. */
  note: string | null;
  /** When it is tried next; null of an open run that waits for the mail server. */
  next_at: string | null;
  created_at: string;
  updated_at: string;
}
/** `GET /api/mail/health`: why no mail goes out, once for all passes; null while it does. */
export interface MailHealth {
  mail_problem: { since: string; reason: string; next_at: string } | null;
}
export interface RunWithSteps extends RunView {
  steps: { name: string; tries: number; began_at: string; done_at: string }[];
}

/** What a person says about a file of guests: what is left out is guessed, or asked about. */
export interface ImportMapping {
  /** `#` and a column's number from 1, to what it is, or `ignore`. */
  columns?: Record<string, string>;
  /** A status word of the file to what it means. */
  statuses?: Record<string, "active" | "used" | "voided" | "refunded">;
  day_first?: boolean;
  missing_codes?: "make" | "leave_out";
  empty_words_in_names?: "empty" | "name";
  new_entry_types?: "create" | "first" | "leave_out";
  encoding?: string;
  sheet?: string;
}

/** How a file was read. */
export interface ImportFile {
  format: "text" | "workbook";
  /** Of a text: `UTF-8`, `UTF-16LE`, `UTF-16BE`, `Windows-1252` or `Mac Roman`. */
  encoding: string | null;
  /** Of a text: what stands between cells. */
  delimiter: string | null;
  /** Of a workbook: the sheet that was read. */
  sheet: string | null;
  other_sheets: string[];
  /** What stood above the header and was passed over. */
  preamble: string[];
  /** Rows below the header. */
  rows: number;
}

export interface ImportColumn {
  header: string;
  /** Its first three values. */
  samples: string[];
  /** `null` where it is not read. */
  becomes: string | null;
  by: "said" | "export" | "guess" | "nothing";
}

export type LeftOutReason = "status" | "total" | "unassigned" | "entry_type" | "no_code" | "no_persons";
export type QuestionKind = "missing_codes" | "status" | "empty_words_in_names" | "day_first";

/** What the file leaves open; its kind is the field of the mapping that answers it. */
export interface ImportQuestion {
  kind: QuestionKind;
  /** The text of the file that it is about. */
  about: string | null;
  message: string;
  /** The first line that waits for the answer. */
  line: number;
  rows: number;
}

export type RowFate = "new" | "changed" | "unchanged" | "left_out" | "joined" | "asked";

/** A row of the file as it will be. */
export interface ImportRow {
  line: number;
  becomes: RowFate;
  name: string | null;
  email: string | null;
  party_size: number | null;
  entry_type: string | null;
  barcode: string | null;
  why: string | null;
}

export interface ImportError {
  line: number;
  field: string;
  message: string;
}

/** What an import did, or would do. */
export interface ImportResult {
  /** By which it can be undone; `null` where nothing was written. */
  import_id: string | null;
  dry_run: boolean;
  file: ImportFile;
  /** Whose export the file is, where it is one the server knows. */
  export: string | null;
  columns: ImportColumn[];
  /** What was said about it, now or of the last file of this header. */
  mapping: ImportMapping;
  created: number;
  /** Persons of the tickets that are made. */
  created_persons: number;
  updated: number;
  unchanged: number;
  /** Rows that say the same as another row. */
  joined: number;
  /** Tickets that a person voided or refunded here, and that the file calls good. */
  kept: number;
  /** Rows that stay out because of what they are. */
  left_out: number;
  left_out_because: { reason: LeftOutReason; about: string | null; rows: number }[];
  /** Entry types that the event gets. */
  new_entry_types: string[];
  /** Products that are no entry types of the event: their rows are of its first type. */
  unknown_types: { name: string; rows: number }[];
  questions: ImportQuestion[];
  /** Rows that wait for an answer; they are in no other count. */
  asked: number;
  /** Lines with a wrong field; `errors` names the first of those fields. */
  wrong_lines: number;
  /** Those of them that a spreadsheet damaged. */
  damaged: number;
  errors: ImportError[];
  /** Guests with an address who get a mail where passes are mailed. */
  to_mail: number;
  mails: boolean;
  /** The first hundred rows of each kind. */
  rows: ImportRow[];
  ignored_columns: string[];
  /** Kinds of codes beside QR that all codes of the file look like. */
  barcode_kinds: BarcodeKind[];
}

/** An import that wrote something. */
export interface PastImport {
  id: string;
  file_name: string | null;
  created: number;
  updated: number;
  imported_at: string;
  undone_at: string | null;
}

/** What undoing an import did. */
export interface UndoneImport {
  withdrawn: number;
  restored: number;
  /** Those that somebody changed since: they stay as they are. */
  kept: number;
}

/** How far an import is that is under way. */
export interface ImportProgress {
  /** The word that the request gave. */
  key: string;
  stage: "reading" | "comparing" | "storing";
  done: number;
  /** 0 where the stage has no rows to count. */
  of: number;
}

export interface PairingToken {
  pairing_token: string;
  url: string;
  expires_at: string;
}

export interface LogView {
  log_id: string;
  head: number;
  missing: [number, number][];
  missing_count: number;
  closed_at: string | null;
}
export interface DeviceView {
  id: string;
  name: string;
  device_type: string;
  gate_id: string;
  state: "active" | "suspended" | "revoked";
  last_seen_at: string | null;
  last_sync_at: string | null;
  pending: number;
  battery: number | null;
  app_version: string;
  manifest_version: number;
  clock_offset_ms: number | null;
  logs: LogView[];
  missing_count: number;
  /** Its scans, of whatever event, that count nothing until a person accepts them. */
  waiting: number;
  /** Somebody else tried the code it was paired with. */
  code_reused_at: string | null;
  lost_since: string | null;
}

/** A device that asks to be let in. */
export interface PairingRequestView {
  device_id: string;
  name: string;
  device_type: string;
  expires_at: string;
  /** State of the device of this id that is known here. */
  known?: "active" | "suspended" | "revoked";
  event_id?: string;
  gate_id?: string;
  /** Since when the device of this id is thought lost: approving it needs `found`. */
  lost_since?: string;
  approved: boolean;
}

/** What importing a saved log did. */
export interface ImportedLog {
  stored: number;
  known: number;
  waiting: number;
  unproven: number;
  counted: number;
  wrong_lines: number;
  errors: { line: number; message: string }[];
}

export interface GateOccupancy {
  gate_id: string;
  name: string;
  entered: number;
  exited: number;
  /** People without a ticket who came in, less those who went out. */
  without_ticket: number;
}
/** A recount: staff counted everybody in an area. */
export interface RecountView {
  gate_ids: string[];
  gate_id: string;
  device_id: string;
  at: string;
  inside: number;
  /** Persons inside then by scans and headcounts. */
  counted: number;
  now: number;
}
export interface Occupancy {
  event_id: string;
  /** Within their tickets' limits. */
  inside: number;
  inside_over: number;
  /** People without a ticket inside now. */
  without_ticket: Record<"staff" | "crew" | "child" | "other", number>;
  /** With a ticket or without. */
  present: number;
  /** Recounts that hold, the newest first. */
  recounts: RecountView[];
  entered: number;
  exited: number;
  over: number;
  tickets: number;
  expected: number;
  capacity: number | null;
  gates: GateOccupancy[];
}

/** Somebody at a door: `GET /events/{id}/arrivals`, and the stream's `arrivals`. */
export interface ArrivalView {
  at: string;
  gate_id: string;
  gate: string;
  guest_id: string | null;
  name: string | null;
  entry_type: string | null;
  persons: number;
  kind: "entry" | "exit" | "refused";
  /** Why the server refuses the scan; `null` where it agrees that the door opened. */
  reason: string | null;
  device: string;
}

export interface MinuteRow {
  at: string;
  gate_id: string;
  entered: number;
  exited: number;
  refused: number;
}
export interface Statistics {
  minutes: MinuteRow[];
}

export interface IncidentScan {
  device_id: string;
  scan_id: string;
  role: "entry" | "double_entry" | "subject";
  gate_id: string;
  at: string;
  uncertainty_ms: number;
  within: number;
  over: number;
  reason: string | null;
  manifest_version: number;
}
export interface IncidentView {
  id: string;
  kind: string;
  severity: "low" | "medium" | "high" | "critical";
  status: "open" | "resolved" | "cleared";
  ticket_id: string | null;
  barcode_hash: string | null;
  /** Who holds the ticket, and its entry type by name. */
  guest: { id: string; name: string; party_size: number } | null;
  entry_type: string | null;
  subject: string;
  order_uncertain: boolean;
  scans: IncidentScan[];
  /** The last answer; `restore` where the one before was taken back. */
  resolution: { decision: string; note: string; at: string } | null;
  /** What is decided about its scans and holds now. */
  decided: { device_id: string; scan_id: string; decision: "accept" | "exclude" }[];
  opened_at: string;
  updated_at: string;
}

/** The review queue in numbers: `GET /events/{id}/incidents/counts`. */
export interface IncidentCounts {
  open: number;
  decided: number;
  /** Kinds without any are left out. */
  kinds: { kind: string; open: number }[];
}
/** `POST /events/{id}/incidents/resolve` `{ids, decision, note?}`: one answer to up to 500 incidents. */
export interface ResolvedMany {
  resolved: string[];
  refused: { id: string; reason: "not_found" | "incident_cleared" | "no_scans" }[];
}

/** A scan as its device wrote it. */
export interface ScanView {
  device_id: string;
  scan_id: string;
  kind: "entry" | "exit" | "revert" | "headcount";
  /** What staff counted of people without a ticket. */
  headcount: { class: string | null; delta: number | null; inside: number | null } | null;
  /** What was asked of the server, and then what was shown at the door, under one id. */
  stage: "claim" | "final";
  method: "qr" | "manual" | "import";
  /** Place in its device's log. */
  seq: number | null;
  count: number;
  device_outcome: string;
  opened: boolean;
  operator: string | null;
  override: { by: string; reason: string } | null;
  signature: "verified" | "bearer" | "unverified";
  received_at: string;
}
