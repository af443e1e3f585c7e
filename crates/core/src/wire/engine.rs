//! The inputs and effects of the scanner engine: the contract with the page around it.
//!
//! The engine (`crate::device::engine`) is a state machine without IO. The engine worker of a browser tab, the
//! terminal scanner or the simulator feeds it inputs and carries out its effects **in order**. As JSON each input and
//! effect is an object tagged by `type`, in snake_case.

mod shown;

use serde::{Deserialize, Serialize};

pub use self::shown::{FieldView, GateView, HeadcountsView, HistoryRow, ListView, NamesView, Problem, RecountView};
pub use super::guests::{Booking, BookingTicket, FoundGuest, WalkInsView};
use super::tree::tagged;
use crate::decide::Screen;
use crate::event::{BarcodeKind, EventStatus, ZoneClock, ZoneNames};
use crate::gate::Direction;
use crate::ids::{DeviceId, EventId, GateId, ScanId, TicketId};
use crate::scan::{Headcount, Method, Outcome, ScanKind};
use crate::time::Timestamp;

/// The clock readings and the randomness of an input. The engine has none of its own (law 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// The phone's wall clock, in milliseconds since 1970. It may be wrong.
    pub wall_ms: i64,
    /// The session's monotonic clock, in milliseconds (`performance.now()`, rounded down).
    pub mono_ms: i64,
    /// 32 fresh random bytes for this input. Ids and jitter are made from them.
    pub random: [u8; 32],
}

/// A row of the journal: opaque text, numbered from 1 without holes, stored in the order of `n`. Only [`Effect::Purge`]
/// removes rows, always from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The row's number in the journal.
    pub n: u64,
    /// The row's content. Only the engine reads it.
    pub text: String,
}

tagged! { "type" "Input":
    /// Something that happened outside the engine.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Input {
        /// The first input. The page gives it once, with the content of its storage. Then it gives the cached bodies as
        /// [`Input::Cache`], and at last [`Input::Started`].
        Start {
            /// An id for this session and its monotonic clock.
            session_id: String,
            /// The whole journal, in order. After a purge its first row has a higher `n` than 1.
            rows: Vec<Row>,
            /// The app's version.
            app_version: String,
            /// One of `ipad`, `phone`, `desktop` and `terminal`.
            device_type: String,
        },
        /// A body that [`Effect::Save`] cached, returned at start. Its bytes are passed separately, as `body`.
        Cache {
            /// The body's key.
            key: String,
        },
        /// The page has read its storage. The engine verifies its list and says what to show.
        Started,
        /// Pair with the server by a pairing link, or by a token alone. With a token alone, the server is the page's
        /// own origin.
        Pair {
            /// The text that was scanned or pasted: `https://host/scan/#pair=TOKEN`, or `TOKEN`.
            code: String,
            /// The name that staff give to this device.
            name: String,
        },
        /// Ask the server for a pairing code and show it, so that an organiser can approve this phone (spec D11 way
        /// (b)).
        AskPairing {
            /// The name that staff give to this device.
            name: String,
        },
        /// Staff cancelled the pairing.
        CancelPairing,
        /// A reader read a code.
        Code {
            /// The text exactly as it was read.
            text: String,
            /// The text that the reader's keys give under another keyboard layout. A hardware reader sends keys, and
            /// does not say for which layout it is set. Absent if both give the same text.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            other: Option<String>,
            /// `qr` (camera or hardware scanner) or `manual`.
            method: Method,
        },
        /// Staff search for a guest by the beginnings of words of the name. [`Effect::Found`] answers at once.
        Search {
            /// The text that staff typed.
            text: String,
        },
        /// Staff picked a guest by hand: scan the guest's ticket.
        Guest {
            /// The guest's ticket.
            ticket_id: TicketId,
        },
        /// Staff say how many of a party go in now. This input answers the question of the screen `admit_party` or
        /// `full`.
        Count {
            /// The scan asked about.
            scan_id: ScanId,
            /// Number of persons. 0 means nobody, and the door stays shut.
            count: u32,
        },
        /// Staff move this device to another gate of its event, one of [`View::gates`].
        Gate {
            /// The gate to move to.
            gate_id: GateId,
        },
        /// Staff enter the event's PIN before the screen opens a page that the PIN protects. [`Effect::PinOk`] or
        /// [`Effect::PinRefused`] answers.
        Pin {
            /// The digits that staff typed.
            pin: String,
        },
        /// Staff set a refusal aside (spec D18). [`Effect::PinRefused`] answers a wrong PIN.
        Override {
            /// The scan that was refused.
            scan_id: ScanId,
            /// The digits of the PIN that staff typed.
            pin: String,
            /// The name of the person who sets the refusal aside.
            by: String,
            /// The reason that this person gives.
            reason: String,
            /// Number of persons to let in.
            count: u32,
        },
        /// Let in the persons of other tickets that belong to the same booking as a scanned ticket. Each ticket gets a
        /// scan of its own.
        Booking {
            /// The scan of one ticket of the booking, made on this device.
            scan_id: ScanId,
            /// The other tickets to let in.
            ticket_ids: Vec<TicketId>,
        },
        /// Add a guest who has no ticket. The scan records the entry, and the server makes the ticket from it.
        WalkIn {
            /// The guest's name.
            name: String,
            /// The zone, one of those that the gate admits.
            zone: String,
            /// Number of persons. All of them go in.
            party: u32,
            /// The staff PIN, needed if staff have already added as many guests as the event allows, or the event has
            /// ended. Empty otherwise.
            #[serde(default)]
            pin: String,
        },
        /// Staff counted people who have no ticket, or everybody in the area behind this gate.
        Headcount {
            /// The count: `{"change": {"class", "delta"}}` or `{"recount": {"inside"}}`.
            headcount: Headcount,
        },
        /// Undo a scan of this device, wholly or except for some persons (spec D9).
        Undo {
            /// The scan. `None` means the last one that let somebody in or out.
            scan_id: Option<ScanId>,
            /// Number of persons that stay counted.
            keep: u32,
        },
        /// Use a gate of direction `both` in this direction from now on.
        Direction {
            /// The direction: `in` or `out`.
            direction: Direction,
        },
        /// The name of the person who operates the device from now on.
        Operator {
            /// The person's name. Empty if nobody operates the device.
            name: String,
        },
        /// The append with this number is durable now.
        Appended {
            /// The value of [`Effect::Append::append`].
            append: u64,
        },
        /// The append with this number failed. None of its rows may count.
        AppendFailed {
            /// The value of [`Effect::Append::append`].
            append: u64,
            /// The reason: `quota`, `lost_lock`, `closed` or another word for staff.
            reason: String,
        },
        /// Storing the body of an [`Effect::Save`] failed.
        SaveFailed {
            /// The body's key.
            key: String,
        },
        /// The answer to a request. Its bytes are passed separately, as `body`. An answer that is not a well-formed one
        /// of Admit (a captive portal's page) counts as not delivered.
        Response {
            /// The value of [`Effect::Send::request`].
            request: u64,
            /// HTTP status.
            status: u16,
            /// The headers, with names in lower case.
            headers: Vec<(String, String)>,
            /// The monotonic clock when the request was handed to the network.
            sent_mono_ms: i64,
        },
        /// A request got no answer: the network failed or the time ran out.
        Failed {
            /// The value of [`Effect::Send::request`].
            request: u64,
        },
        /// The operating system says that there is a network again.
        Online,
        /// The time of [`Effect::Wake`] has come. A tick that is early or late does no harm.
        Tick,
        /// Staff pressed Sync: send everything now.
        SyncNow,
        /// The battery's level changed.
        Battery {
            /// The level in percent, 0–100.
            percent: u8,
        },
        /// Hide a row of the problem list. The scan stays in the journal.
        HideProblem {
            /// The scan of the row to hide.
            scan_id: ScanId,
        },
        /// Staff ask for the unsent scans as a file. [`Effect::Export`] answers.
        Export,
    }
}

impl Input {
    /// A code from a reader, with only one possible text.
    pub fn code(text: impl Into<String>) -> Self {
        Self::Code { text: text.into(), other: None, method: Method::Qr }
    }
}

/// An action for the page. The page carries actions out in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Effect {
    /// Write rows in one strict (flushed) transaction. Answer with [`Input::Appended`] or [`Input::AppendFailed`].
    Append {
        /// Number of this append.
        append: u64,
        /// The rows. Their numbers continue the journal's.
        rows: Vec<Row>,
    },
    /// Store a body in the cache database under a key. Losing the body harms no scan. Flush it all the same before you
    /// carry out later effects. Otherwise, after a crash, the device could find only a list that is older than one it
    /// used. The device would refuse that list and wait for a network.
    Save {
        /// The key in the cache.
        key: String,
        /// The text to store. Absent: store the body of the answer being handled.
        text: Option<String>,
        /// Whether the body holds guests' names. If so, store the body encrypted under a key that cannot be read out of
        /// the device (spec §5 "names").
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sealed: bool,
    },
    /// In one strict (flushed) transaction, after the rows of all earlier effects are appended: replace the row with
    /// this `n`, and remove every row with a lower `n`. No input answers this effect. If the transaction fails, the
    /// journal stays unchanged and a later start tries again.
    Purge {
        /// The row that sums up all rows up to its `n`.
        row: Row,
    },
    /// Remove a cached body.
    Forget {
        /// The key in the cache.
        key: String,
    },
    /// Send a request. Answer with [`Input::Response`] or [`Input::Failed`].
    Send {
        /// Number of this request.
        request: u64,
        /// `GET` or `POST`.
        method: String,
        /// Path and query on the paired server.
        path: String,
        /// The headers, including `authorization`.
        headers: Vec<(String, String)>,
        /// The JSON body, which the page may compress. Absent for `GET`.
        body: Option<String>,
        /// Give up after this time, in milliseconds.
        timeout_ms: u64,
        /// Origin of the paired server, such as `https://host`, if the pairing link named one. Absent: the page's own
        /// origin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// Whether a person waits for the answer. If so, send the request before all others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        urgent: bool,
    },
    /// Stop waiting for an answer. A late answer is ignored.
    Cancel {
        /// The value of [`Effect::Send::request`].
        request: u64,
    },
    /// Send [`Input::Tick`] when the monotonic clock reaches this time. A wake that was set before no longer applies.
    Wake {
        /// The monotonic clock of the wake, in milliseconds.
        at_mono_ms: i64,
    },
    /// Show a verdict. Its scan is durable already.
    Show {
        /// The verdict.
        verdict: Box<VerdictView>,
    },
    /// A scan was undone, wholly or in part, and the undo is durable.
    Undone {
        /// The scan that was undone.
        scan_id: ScanId,
        /// Number of persons who no longer count.
        count: u32,
    },
    /// The scanner's state changed. Draw it.
    View {
        /// The whole state.
        view: Box<View>,
    },
    /// The guests that a search found.
    Found {
        /// The text that was searched for.
        text: String,
        /// The best matches.
        guests: Vec<FoundGuest>,
        /// Whether there are more matches than these.
        more: bool,
    },
    /// The PIN was wrong, or the device pauses after too many wrong ones.
    PinRefused {
        /// Number of tries left before the pause.
        tries_left: u32,
        /// Until when the device takes no PIN, by the monotonic clock. Absent if the device takes one now.
        paused_until_mono_ms: Option<i64>,
    },
    /// The PIN of [`Input::Pin`] was right.
    PinOk,
    /// Staff asked for something that could not be done. Nothing was recorded.
    Refused {
        /// The reason, as a stable word: `nothing_to_undo`, `not_paired`, `bad_pairing_code`, `no_list`, `no_pin`,
        /// `unknown_scan`, `unknown_guest`, `no_walk_ins`, `bad_name`, `bad_zone`, `needs_pin`, `bad_count`,
        /// `bad_direction`, `bad_gate`, `storage_blocked`, `pairing_failed`, or `busy` (too many inputs wait, so try
        /// again).
        code: String,
        /// The reason in plain words, for staff.
        message: String,
    },
    /// The file that [`Input::Export`] asked for.
    Export {
        /// File name.
        name: String,
        /// The content, as JSON lines.
        text: String,
    },
    /// Delete every cached body now, since guest data must go (spec D10). The journal stays.
    WipeCaches,
}

/// A verdict in the form that the screen needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictView {
    /// The screen to show (experience §8).
    pub screen: Screen,
    /// The scan of the verdict. Absent on the screen `not_a_ticket`, and on `same_ticket` unless the ticket's booking
    /// offers other tickets.
    pub scan_id: Option<ScanId>,
    /// Entry, exit or revert.
    pub kind: ScanKind,
    /// The outcome of the decision.
    pub outcome: Outcome,
    /// The reason, one word of [`crate::decide::Reason`]. Absent if the outcome is `valid`.
    pub reason: Option<String>,
    /// Whether the door opened.
    pub opened: bool,
    /// Persons whom this scan let in or out.
    pub count: u32,
    /// Persons who may go in now, the highest value for [`Input::Count`].
    pub may_admit: u32,
    /// Persons that the ticket admits.
    pub entry_limit: u32,
    /// Persons of the ticket who were in before this scan.
    pub already_in: u32,
    /// The ticket. Absent if the code is unknown.
    pub ticket_id: Option<TicketId>,
    /// The short code of the code's hash, by which staff talk about the ticket.
    pub short_code: String,
    /// The ticket's zone. Absent if the ticket is unknown.
    pub zone: Option<String>,
    /// The guest's name. Absent if devices at this gate may not show it.
    pub name: Option<String>,
    /// The note for the door. Absent if there is none, or if devices at this gate may not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The check that staff must make, such as an ID. Absent if there is none, or if devices at this gate may not show
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// The guest's fields that the organiser wants shown. Empty if devices at this gate may not show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldView>,
    /// For `wrong_place`: the names of the gates that admit the ticket.
    pub right_gates: Vec<String>,
    /// For the reason `wrong_time`: the first moment at which the ticket admits. Absent if the ticket has no such
    /// bound.
    pub valid_from: Option<Timestamp>,
    /// For the reason `wrong_time`: the first moment at which the ticket no longer admits. Absent if the ticket has no
    /// such bound.
    pub expires_at: Option<Timestamp>,
    /// The entry with which a duplicate collides. Absent otherwise.
    pub last_entry: Option<LastEntryView>,
    /// The scan's time.
    pub at: Timestamp,
    /// `device` (decided here: amber edge, "stored, will sync") or `server` (the server answered).
    pub decided_by: DecidedBy,
    /// Whether the list has expired. If so, the screen is never plain green (spec §4).
    pub list_expired: bool,
    /// The version of the list by which the device decided.
    pub manifest_version: u64,
    /// When the server handed that list out. Absent if unknown.
    pub list_at: Option<Timestamp>,
    /// Whether staff with the PIN may set the refusal aside.
    pub can_override: bool,
    /// Whether the scan was an override.
    pub overridden: bool,
    /// Whether the scan can be undone.
    pub can_undo: bool,
    /// For `same_ticket`: milliseconds since the first verdict on this device. Absent otherwise.
    pub same_ticket_ms: Option<i64>,
    /// Whether the scan was practice, because the event is a draft. If so, it counts nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub practice: bool,
    /// For `full`: how many more persons the area holds. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// The other tickets of the ticket's booking. Absent if there is no booking to offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking: Option<Booking>,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The device decided alone.
    Device,
    /// The server answered before the door opened.
    Server,
}

/// The entry with which a duplicate collides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastEntryView {
    /// When the entry was.
    pub at: Timestamp,
    /// The name of the entry's gate.
    pub gate: String,
    /// The device of the entry. Absent if this device knows the entry only from the server's answer to the scan, which
    /// names no device.
    pub device_id: Option<DeviceId>,
    /// The name that staff use for the device of the entry. Empty if this device does not know the name.
    pub device: String,
    /// Whether this device made the entry.
    pub own: bool,
}

/// The phase of the scanner: what it can do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The device is not paired.
    Unpaired,
    /// A pairing is under way.
    Pairing,
    /// The device is paired, but has no list yet.
    FirstSync,
    /// The device scans.
    Ready,
    /// The organiser revoked this device. Guest data is removed, and the log is being uploaded.
    Revoked,
    /// The server does not know the key, so the device must be paired again. Nothing is erased.
    KeyUnknown,
    /// Storage refuses to write. Nothing can be recorded, so nobody is admitted.
    Blocked,
}

/// The state of the scanner, as the page draws it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The phase.
    pub phase: Phase,
    /// Why the phase is `blocked` or `first_sync`, or why a pairing failed. Absent otherwise.
    pub message: Option<String>,
    /// The code to show to an organiser while this phone waits for approval. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing_code: Option<String>,
    /// The id of this device. Absent until it has chosen one at random.
    pub device_id: Option<DeviceId>,
    /// The name that staff gave to this device.
    pub device_name: String,
    /// The event that the device is paired for; absent until it is paired.
    pub event_id: Option<EventId>,
    /// Event's name.
    pub event_name: String,
    /// The gate that the device scans at; absent until it is paired.
    pub gate_id: Option<GateId>,
    /// Gate's name.
    pub gate_name: String,
    /// The gate's own direction. Absent if the list does not have the gate.
    pub gate_direction: Option<Direction>,
    /// The direction in use: `in` or `out`.
    pub direction: Direction,
    /// The event's gates in this device's list, in order of id. Staff may move the device to any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateView>,
    /// Whether the list lacks this device's gate, because the gate was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gate_gone: bool,
    /// The name of the person who operates the device; empty for nobody.
    pub operator: String,
    /// The list by which the device decides. Absent until there is one.
    pub list: Option<ListView>,
    /// Whether the server answered lately.
    pub online: bool,
    /// Whether answers came that were not from Admit, as behind a captive portal.
    pub captive: bool,
    /// Whether the server stores this device's scans without counting them, until the organiser counts them (spec D19).
    /// Scanning goes on.
    #[serde(default)]
    pub suspended: bool,
    /// Scans that no receipt names yet.
    pub unsent: u64,
    /// Scans in the upload under way.
    pub sending: u64,
    /// Milliseconds until the next try after a failure. Absent if no upload waits.
    pub retry_in_ms: Option<i64>,
    /// The time of the last receipt. Absent before the first.
    pub last_sync_at: Option<Timestamp>,
    /// Estimated server time minus the wall clock, in milliseconds. Absent before the first input.
    pub clock_offset_ms: Option<i64>,
    /// Half the width of the interval of estimated server time, in milliseconds.
    pub clock_uncertainty_ms: Option<u64>,
    /// Persons whom this device let in, after reverts.
    pub own_admitted: u32,
    /// Whether this device holds guests' names.
    #[serde(default)]
    pub names: NamesView,
    /// The event's status in the list. A draft's scans are practice, and an event that ended admits nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_status: Option<EventStatus>,
    /// When an organiser last looked for this device, if that was within two minutes of the last heartbeat. The app
    /// rings once for each such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_at: Option<Timestamp>,
    /// The data with which the screen adds guests. Absent if this gate adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_ins: Option<WalkInsView>,
    /// This device's count of people without a ticket. Absent until it is paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headcounts: Option<HeadcountsView>,
    /// The event's time zone, in which every time is shown. Absent until a list brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ZoneClock>,
    /// Kinds of codes that the camera reads for this event in addition to QR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barcode_kinds: Vec<BarcodeKind>,
    /// The name that staff use for each zone. A zone that is missing here is shown by its id.
    #[serde(default, skip_serializing_if = "ZoneNames::is_empty")]
    pub zone_names: ZoneNames,
    /// Whether the event has a staff PIN.
    pub has_pin: bool,
    /// The scans that the server refused, with the reason.
    pub problems: Vec<Problem>,
    /// The last 50 scans, newest first.
    pub history: Vec<HistoryRow>,
}
