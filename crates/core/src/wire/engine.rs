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

/// The clocks and randomness at an input: the engine has none of its own (law 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Wall clock, milliseconds since 1970: what the phone believes.
    pub wall_ms: i64,
    /// Monotonic clock of this session, milliseconds (`performance.now()`, floored).
    pub mono_ms: i64,
    /// 32 fresh random bytes for this input; ids and jitter come from them.
    pub random: [u8; 32],
}

/// A row of the journal: opaque text, numbered from 1 without holes, kept in the order of `n`. Only [`Effect::Purge`]
/// takes rows away, always from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Place in the journal.
    pub n: u64,
    /// Tagged content; only the engine reads it.
    pub text: String,
}

tagged! { "type" "Input":
    /// An event outside the engine.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Input {
        /// The first input, once: what storage holds. Caches follow as [`Input::Cache`], then [`Input::Started`].
        Start {
            /// Names this session's monotonic clock.
            session_id: String,
            /// The whole journal, in order. After a purge its first row has a higher `n` than 1.
            rows: Vec<Row>,
            /// Version of the app.
            app_version: String,
            /// `ipad | phone | desktop | terminal`.
            device_type: String,
        },
        /// A cached body saved by [`Effect::Save`], given back at start; its bytes are passed beside the input.
        Cache {
            /// Its key.
            key: String,
        },
        /// Storage is read: the engine verifies the list it has and says what to show.
        Started,
        /// Pair with the server: a pairing link, or the token alone (then `server` must be known: same origin).
        Pair {
            /// The text that was scanned or pasted: `https://host/scan/#pair=TOKEN`, or `TOKEN`.
            code: String,
            /// How staff call this device.
            name: String,
        },
        /// Show this phone's own code, for an organiser to approve (spec D11 way (b)).
        AskPairing {
            /// How staff call this device.
            name: String,
        },
        /// Staff gave the pairing up.
        CancelPairing,
        /// A reader read a code.
        Code {
            /// The text, untouched.
            text: String,
            /// The same code as another keyboard layout has it: a hardware reader sends keys and does not say which layout
            /// it is set to. Absent where both read alike.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            other: Option<String>,
            /// `qr` (camera or hardware scanner) or `manual`.
            method: Method,
        },
        /// Staff look for a guest by beginnings of words of the name; answered at once by [`Effect::Found`].
        Search {
            /// The text that staff typed.
            text: String,
        },
        /// Staff picked a guest: a scan of their ticket, by hand.
        Guest {
            /// The ticket they hold.
            ticket_id: TicketId,
        },
        /// How many of a party go in now: answers the screen `admit_party` (or `full`).
        Count {
            /// The scan asked about.
            scan_id: ScanId,
            /// Persons; 0 = nobody, the door stays shut.
            count: u32,
        },
        /// Staff move this device to another gate of its event, one of [`View::gates`].
        Gate {
            /// The gate to move to.
            gate_id: GateId,
        },
        /// Staff show that they know the event's PIN: answered by [`Effect::PinOk`] or [`Effect::PinRefused`].
        Pin {
            /// The digits that staff typed.
            pin: String,
        },
        /// Staff set a refusal aside (spec D18). A wrong PIN is told by [`Effect::PinRefused`].
        Override {
            /// The scan that was refused.
            scan_id: ScanId,
            /// The digits.
            pin: String,
            /// The name of the person who sets the refusal aside.
            by: String,
            /// The reason that they give.
            reason: String,
            /// Number of persons to let in.
            count: u32,
        },
        /// Let the others of a scan's booking in, each by a scan of its own.
        Booking {
            /// A scan of one of its tickets on this device.
            scan_id: ScanId,
            /// Which of the others.
            ticket_ids: Vec<TicketId>,
        },
        /// Add a guest who has no ticket: their entry is recorded, and the server makes the ticket from it.
        WalkIn {
            /// The guest's name.
            name: String,
            /// Zone, one of the gate's.
            zone: String,
            /// Persons, who all go in.
            party: u32,
            /// The staff PIN, where the number is used up or the event has ended; else empty.
            #[serde(default)]
            pin: String,
        },
        /// Staff counted people who have no ticket, or everybody in the area behind this gate.
        Headcount {
            /// `{"change": {"class", "delta"}}` or `{"recount": {"inside"}}`.
            headcount: Headcount,
        },
        /// Undo a scan of this device, or keep only some of its persons (spec D9).
        Undo {
            /// Which; `None` = the last one that let somebody in or out.
            scan_id: Option<ScanId>,
            /// Persons that stay counted.
            keep: u32,
        },
        /// Which way a gate of direction `both` is used now.
        Direction {
            /// `in` or `out`.
            direction: Direction,
        },
        /// The name of the person who operates the device from now on.
        Operator {
            /// Name, or empty for nobody.
            name: String,
        },
        /// The append with this number is durable.
        Appended {
            /// [`Effect::Append::append`].
            append: u64,
        },
        /// The append with this number did not happen: nothing of it may count.
        AppendFailed {
            /// [`Effect::Append::append`].
            append: u64,
            /// `quota`, `lost_lock`, `closed` or another word for staff.
            reason: String,
        },
        /// The body of an [`Effect::Save`] is not stored.
        SaveFailed {
            /// Its key.
            key: String,
        },
        /// An answer; its body's bytes are passed beside the input. Whatever is not a well-formed answer of ours
        /// (a captive portal's page) is treated as not delivered.
        Response {
            /// [`Effect::Send::request`].
            request: u64,
            /// HTTP status.
            status: u16,
            /// Headers, names in lower case.
            headers: Vec<(String, String)>,
            /// Monotonic clock when the request was handed to the network.
            sent_mono_ms: i64,
        },
        /// No answer: the network failed or the time ran out.
        Failed {
            /// [`Effect::Send::request`].
            request: u64,
        },
        /// The system says there is a network again.
        Online,
        /// The time of [`Effect::Wake`] has come (earlier or later is harmless).
        Tick,
        /// Try now: staff pressed Sync.
        SyncNow,
        /// Battery level, percent.
        Battery {
            /// 0–100.
            percent: u8,
        },
        /// Hide a row of the problem list; it stays in the journal.
        HideProblem {
            /// The scan.
            scan_id: ScanId,
        },
        /// Staff want the unsent scans as a file: answered by [`Effect::Export`].
        Export,
    }
}

impl Input {
    /// A code that a reader read in one way.
    pub fn code(text: impl Into<String>) -> Self {
        Self::Code { text: text.into(), other: None, method: Method::Qr }
    }
}

/// An action for the page, to be carried out in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Effect {
    /// Write rows in one strict (flushed) transaction; answer with `appended` or `append_failed`.
    Append {
        /// Number of this append.
        append: u64,
        /// Rows; `n` continues the journal.
        rows: Vec<Row>,
    },
    /// Keep a body in the cache database under a key. May be lost without harm to any scan; flush it before the effects
    /// after it all the same: a device whose list is older than one it used before refuses it, and waits for a network.
    Save {
        /// The key in the cache.
        key: String,
        /// The text to keep; absent: the body of the answer being handled.
        text: Option<String>,
        /// It holds guests' names: kept only under a key that cannot be read out of the device (spec §5 "names").
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sealed: bool,
    },
    /// In one strict (flushed) transaction, after the appends before it: write this row in the place of the one with its
    /// `n`, and remove every row with a lower `n`. Nobody waits for it and nothing answers: where it fails the journal is
    /// as it was, and a later start tries again.
    Purge {
        /// The row with the sum of the rows up to `n`.
        row: Row,
    },
    /// Remove a cached body.
    Forget {
        /// The key in the cache.
        key: String,
    },
    /// Send a request; answer with `response` or `failed`.
    Send {
        /// Number of this request.
        request: u64,
        /// `GET` or `POST`.
        method: String,
        /// Path and query on the paired server.
        path: String,
        /// Headers, `authorization` among them.
        headers: Vec<(String, String)>,
        /// JSON body; the page may compress it.
        body: Option<String>,
        /// Give up after this long, milliseconds.
        timeout_ms: u64,
        /// Origin of the paired server where the pairing link named one, such as `https://host`; absent: the page's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// A person waits for the verdict that this asks about: send it before everything else.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        urgent: bool,
    },
    /// Give up waiting for an answer; its late arrival is ignored.
    Cancel {
        /// [`Effect::Send::request`].
        request: u64,
    },
    /// Send [`Input::Tick`] when the monotonic clock reaches this; replaces the wake before.
    Wake {
        /// Monotonic clock, milliseconds.
        at_mono_ms: i64,
    },
    /// Show a verdict. Comes only after its scan is durable.
    Show {
        /// The verdict.
        verdict: Box<VerdictView>,
    },
    /// A scan was undone, wholly or in part; durable.
    Undone {
        /// The scan that was undone.
        scan_id: ScanId,
        /// Persons taken back.
        count: u32,
    },
    /// The state of the scanner changed: draw it.
    View {
        /// All of it.
        view: Box<View>,
    },
    /// The guests that a search found.
    Found {
        /// The text that was searched for.
        text: String,
        /// The best of them.
        guests: Vec<FoundGuest>,
        /// There are more than are shown.
        more: bool,
    },
    /// The PIN was wrong, or too many were.
    PinRefused {
        /// Tries left before the pause.
        tries_left: u32,
        /// Until when no PIN is taken (monotonic clock), if paused.
        paused_until_mono_ms: Option<i64>,
    },
    /// The PIN of [`Input::Pin`] was right.
    PinOk,
    /// Something staff asked for could not be done, in plain words; nothing was recorded.
    Refused {
        /// Stable word: `nothing_to_undo`, `not_paired`, `bad_pairing_code`, `no_list`, `no_pin`, `unknown_scan`,
        /// `unknown_guest`, `no_walk_ins`, `bad_name`, `bad_zone`, `needs_pin`, `bad_count`, `bad_direction`, `bad_gate`, `storage_blocked`,
        /// `pairing_failed`, `busy` (too many inputs wait: again).
        code: String,
        /// For staff.
        message: String,
    },
    /// The unsent scans as a file.
    Export {
        /// File name.
        name: String,
        /// Content (JSON lines).
        text: String,
    },
    /// Guest data must go now: delete every cached body (the journal stays) (spec D10).
    WipeCaches,
}

/// A verdict as the screen needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictView {
    /// Which screen (experience §8).
    pub screen: Screen,
    /// Its scan; absent for `not_a_ticket` and `same_ticket`.
    pub scan_id: Option<ScanId>,
    /// Entry, exit or revert.
    pub kind: ScanKind,
    /// The outcome of the decision.
    pub outcome: Outcome,
    /// Reason, one word of [`crate::decide::Reason`].
    pub reason: Option<String>,
    /// Whether the door opened.
    pub opened: bool,
    /// Persons let in (or out) by this scan.
    pub count: u32,
    /// Persons who may go in now: the most `count` may be.
    pub may_admit: u32,
    /// The ticket's party size.
    pub entry_limit: u32,
    /// Persons of the ticket in before this scan.
    pub already_in: u32,
    /// Ticket, where known.
    pub ticket_id: Option<TicketId>,
    /// First characters of the code's hash, for talk between staff.
    pub short_code: String,
    /// The ticket's zone.
    pub zone: Option<String>,
    /// Guest name, where this gate may know it.
    pub name: Option<String>,
    /// Note for the door, where this gate may know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The check that staff are to make, such as an ID; absent where there is none or this gate may not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// The guest's fields that the organiser wants shown, where this gate may know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldView>,
    /// Gates the ticket is good for, by name, for `wrong_place`.
    pub right_gates: Vec<String>,
    /// Window, for `wrong_time`.
    pub valid_from: Option<Timestamp>,
    /// Window, for `wrong_time`.
    pub expires_at: Option<Timestamp>,
    /// The entry it collides with.
    pub last_entry: Option<LastEntryView>,
    /// Scan time.
    pub at: Timestamp,
    /// `device` (decided here: amber edge, "stored, will sync") or `server` (confirmed).
    pub decided_by: DecidedBy,
    /// The list is past its expiry: never plainly green (spec §4).
    pub list_expired: bool,
    /// Version of the list decided by.
    pub manifest_version: u64,
    /// When that list was made.
    pub list_at: Option<Timestamp>,
    /// Staff with the PIN may set it aside.
    pub can_override: bool,
    /// It was an override.
    pub overridden: bool,
    /// Can be undone.
    pub can_undo: bool,
    /// For `same_ticket`: milliseconds since its verdict here.
    pub same_ticket_ms: Option<i64>,
    /// It counts nothing: the event was a draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub practice: bool,
    /// For `full`: how many more the area holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// The other tickets of its booking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking: Option<Booking>,
}

/// The side that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The device alone.
    Device,
    /// The server confirmed.
    Server,
}

/// The entry a duplicate collides with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastEntryView {
    /// When the entry was.
    pub at: Timestamp,
    /// Where, by name.
    pub gate: String,
    /// Which device; unknown where only the server knows of the entry.
    pub device_id: Option<DeviceId>,
    /// How staff call it; empty where that is not known here.
    pub device: String,
    /// It was this device.
    pub own: bool,
}

/// Where the scanner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not paired.
    Unpaired,
    /// A pairing is under way.
    Pairing,
    /// Paired, no list yet.
    FirstSync,
    /// The scanner scans.
    Ready,
    /// The organiser revoked this device: guest data is gone, the log is being handed over.
    Revoked,
    /// The server does not know the key: pair again; nothing is erased.
    KeyUnknown,
    /// Storage refuses: nothing can be recorded, so nothing is admitted.
    Blocked,
}

/// The state of the scanner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Where it stands.
    pub phase: Phase,
    /// For `blocked`, `first_sync` and failed pairing: why.
    pub message: Option<String>,
    /// While this phone waits for an organiser's approval: the token to show them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing_code: Option<String>,
    /// This device.
    pub device_id: Option<DeviceId>,
    /// Its name.
    pub device_name: String,
    /// The event that the device is paired for; absent until it is paired.
    pub event_id: Option<EventId>,
    /// Event's name.
    pub event_name: String,
    /// The gate that the device scans at; absent until it is paired.
    pub gate_id: Option<GateId>,
    /// Gate's name.
    pub gate_name: String,
    /// The gate's own direction.
    pub gate_direction: Option<Direction>,
    /// The direction in use: `in` or `out`.
    pub direction: Direction,
    /// Gates of the event by this device's list, in order of their ids: it may be moved to any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateView>,
    /// The list has no such gate as this device stands at: it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gate_gone: bool,
    /// The name of the person who operates the device; empty for nobody.
    pub operator: String,
    /// The list.
    pub list: Option<ListView>,
    /// The server answered lately.
    pub online: bool,
    /// Answers that were not ours came back: no real network.
    pub captive: bool,
    /// The server holds this device's uploads until the organiser counts them (spec D19); scanning goes on.
    #[serde(default)]
    pub suspended: bool,
    /// Scans no receipt names yet.
    pub unsent: u64,
    /// Scans in the upload under way.
    pub sending: u64,
    /// Next try, milliseconds from now, while waiting after a failure.
    pub retry_in_ms: Option<i64>,
    /// Last receipt.
    pub last_sync_at: Option<Timestamp>,
    /// Server time − wall clock, milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// ± milliseconds.
    pub clock_uncertainty_ms: Option<u64>,
    /// Persons this device let in (reverts taken off).
    pub own_admitted: u32,
    /// Guests' names on this device.
    #[serde(default)]
    pub names: NamesView,
    /// The event's status by the list: a draft's scans are practice, one that ended admits nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_status: Option<EventStatus>,
    /// When an organiser last looked for this device, if that was a moment ago: it makes itself noticed once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_at: Option<Timestamp>,
    /// The guests that staff may add here; absent where they may add none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_ins: Option<WalkInsView>,
    /// This device's count of people without a ticket; absent until it is paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headcounts: Option<HeadcountsView>,
    /// The clocks of the event's zone, by which every time is shown; absent until a list says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ZoneClock>,
    /// Kinds of codes that the event wants read by camera beside QR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barcode_kinds: Vec<BarcodeKind>,
    /// How staff call each zone; one that is not here is called by itself.
    #[serde(default, skip_serializing_if = "ZoneNames::is_empty")]
    pub zone_names: ZoneNames,
    /// The event has a staff PIN.
    pub has_pin: bool,
    /// Rows the server refused, and why.
    pub problems: Vec<Problem>,
    /// The last 50 scans, newest first.
    pub history: Vec<HistoryRow>,
}
