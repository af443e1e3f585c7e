//! The engine's state between two inputs, and the only way in which rows get into the journal.
//!
//! A journalled change affects the state only after its append is durable. While an append is under way, further inputs
//! that need an append wait. The engine decides about them afterwards, with the state that the append leaves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sha2::{Digest as _, Sha256};

use super::book::NameBook;
use super::clock::Clock;
use super::feed::Feed;
use super::journal::Journal;
use super::lane::Lane;
use super::list::List;
use super::proofs::Proofs;
use crate::gate::{Direction, GateRules};
use crate::ids::{BatchId, EventId, GateId, ScanId};
use crate::limits;
use crate::rule::Epoch;
use crate::time::Timestamp;
use crate::wire::engine::{Effect, Input, Now, Row, VerdictView, View};
use crate::wire::journal::{self as rows, Entry, Paired};
use crate::wire::scanning::DeviceType;
use crate::wire::scans::OnlineAnswer;

/// The action that follows once an append is durable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum After {
    /// Show a verdict.
    Show(Box<VerdictView>),
    /// Tell that a scan was undone.
    Undone {
        /// The scan that was undone.
        scan_id: ScanId,
        /// Persons who no longer count.
        persons: u32,
    },
    /// Tell that the PIN was wrong.
    PinRefused,
    /// Tell that the PIN was right.
    PinOk,
    /// Ask the server about this claim before the door opens.
    Ask(ScanId),
    /// Ask to be paired: this phone has its own name now.
    Pair,
    /// Begin to use a pairing or a new assignment, first by fetching the list. Holds the event that the device scanned
    /// for before, if there was one.
    Settled(Option<EventId>),
}

/// An append under way.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub append: u64,
    pub entries: Vec<Entry>,
    /// Number of entries at the beginning that nobody waits for.
    pub noted: usize,
    pub after: Vec<After>,
}

/// The journal's writer: one append at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    pub appends: u64,
    pub flight: Option<Flight>,
    /// Rows on which no answer to staff depends. They are written with the next append.
    pub rows: Vec<Entry>,
    /// Staff's inputs that wait until the append under way is done.
    pub inputs: VecDeque<Input>,
    /// Why storage refuses to write. Absent if it does not.
    pub blocked: Option<String>,
    /// Whether another tab has become the writer. If so, this tab never writes or uploads again.
    pub lost: bool,
    /// The monotonic clock at which storage is tried again.
    pub probe_at: i64,
}

/// The kinds of requests, with what each is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Pair,
    Time {
        gaps_ms: i64,
    },
    List {
        event_id: EventId,
        since: Option<u64>,
    },
    /// Changes. `of` is the epoch of the list that the request names.
    Changes {
        event_id: EventId,
        of: Epoch,
    },
    /// Guests' names. `seen` is the newest change known when the request was made.
    Names {
        event_id: EventId,
        seen: Option<(Epoch, u64)>,
    },
    Heartbeat,
    Sync,
    Status {
        head: u64,
    },
    Scan {
        scan_id: ScanId,
    },
    Ping,
}

/// The lanes: one per kind of request.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    pub pair: Lane,
    pub time: Lane,
    pub list: Lane,
    pub changes: Lane,
    pub names: Lane,
    pub heartbeat: Lane,
    pub sync: Lane,
    pub status: Lane,
    pub scan: Lane,
    pub ping: Lane,
}

impl Lanes {
    pub fn of(&mut self, ask: &Ask) -> &mut Lane {
        match ask {
            Ask::Pair => &mut self.pair,
            Ask::Time { .. } => &mut self.time,
            Ask::List { .. } => &mut self.list,
            Ask::Changes { .. } => &mut self.changes,
            Ask::Names { .. } => &mut self.names,
            Ask::Heartbeat => &mut self.heartbeat,
            Ask::Sync => &mut self.sync,
            Ask::Status { .. } => &mut self.status,
            Ask::Scan { .. } => &mut self.scan,
            Ask::Ping => &mut self.ping,
        }
    }
    pub fn all(&mut self) -> [&mut Lane; 10] {
        let Self { pair, time, list, changes, names, heartbeat, sync, status, scan, ping } = self;
        [pair, time, list, changes, names, heartbeat, sync, status, scan, ping]
    }
}

/// A claim about which the device asks the server. Its verdict waits for the answer. Only one question is open at a
/// time, since the device decides about the next code with the state that this claim's final leaves.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub scan_id: ScanId,
    /// The monotonic clock from which the device decides alone.
    pub until_mono_ms: i64,
    /// How the question to the server ended: with an answer, or without one (inner `None`). Absent while the device
    /// waits.
    pub word: Option<Option<Box<OnlineAnswer>>>,
}

/// The last measured round trip to the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// The monotonic clock when the answer came.
    pub at_mono_ms: i64,
    pub round_ms: i64,
    /// The value of [`Clock::gaps_ms`] when the answer came. If the value has changed since, the phone slept or its
    /// clock was set, and the measured round trip is no longer valid.
    pub gaps_ms: i64,
}

/// A pairing under way.
#[derive(Debug, Clone)]
pub(super) struct Pairing {
    pub token: String,
    pub server: Option<String>,
    pub name: String,
    /// This phone's own request to be paired (spec D11 way (b)). While it waits, the token is empty until the server
    /// gives one. Absent if staff gave the phone a pairing code.
    pub own: Option<Own>,
}

/// The data of a pairing that waits for an organiser's approval.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub claim_secret: String,
    /// The monotonic clock at which the shown code expires.
    pub until_mono_ms: i64,
}

/// The upload under way. Its id and content stay unchanged until it is answered (spec D2).
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub id: BatchId,
    pub seqs: Vec<u64>,
    pub body: String,
}

/// A beginning of the journal that may be purged once the clock is confirmed, with its rows as storage returned them at
/// start.
#[derive(Debug)]
pub(super) struct Purge {
    /// The rows that are not purged yet.
    pub rows: VecDeque<Row>,
    /// The sum of the rows that are purged.
    pub summed: Journal,
    /// The seq of the last scan among the rows.
    pub seq: u64,
}

/// The view that the page was last told to draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    /// The view without its countdown.
    pub view: View,
    /// The monotonic clock at which the countdown ends. Absent without a countdown.
    pub retry_at: Option<i64>,
    /// The value of [`Journal::rows`] from which the view's history and problems were made.
    pub rows: u64,
}

/// A count that the server made for this device's gate, such as the persons in the area behind it.
#[derive(Debug, Clone)]
pub struct Area {
    pub event_id: EventId,
    pub gate_id: GateId,
    /// The number of persons.
    pub inside: u32,
    /// The newest change that the count includes: epoch and serial.
    pub at: (Epoch, u64),
    /// The monotonic clock when the count came.
    pub heard_mono_ms: i64,
    /// The state of this device when the heartbeat left that brought the count.
    pub beat: Beat,
}

/// The state of this device when a heartbeat left.
#[derive(Debug, Clone, Default)]
pub struct Beat {
    /// Whether it had a list.
    pub listed: bool,
    /// Seqs of the scans that no receipt named.
    pub unsent: BTreeSet<u64>,
    /// The seq of its last scan.
    pub head: u64,
    /// The gate that staff had chosen on the device, as far as this heartbeat reported it. Absent if it reported none.
    pub gate_id: Option<GateId>,
}

/// The whole state of the engine.
#[derive(Debug, Default)]
pub(super) struct State {
    pub now: Option<Now>,
    pub draws: u32,
    pub out: Vec<Effect>,
    pub started: bool,
    pub session_id: String,
    pub app_version: String,
    pub device_type: Option<DeviceType>,
    pub battery: Option<u8>,
    pub clock: Clock,
    pub journal: Journal,
    pub writer: Writer,
    pub list: Option<List>,
    /// Versions of the deltas that the cache keeps on top of the whole list.
    pub deltas: Vec<u64>,
    pub feed: Feed,
    /// Guests' names. Absent if this gate allows none, or none came yet.
    pub names: Option<NameBook>,
    /// The version of the list with which the server refused names. The device does not ask again with the same list.
    pub names_refused: Option<u64>,
    /// Whether the names must be fetched whole, because those held are signed under a key that was rotated out.
    pub names_whole: bool,
    /// The newest change of the event that a heartbeat's answer named.
    pub head_named: Option<(Epoch, u64)>,
    pub caches: BTreeMap<String, Vec<u8>>,
    pub lanes: Lanes,
    pub requests: BTreeMap<u64, Ask>,
    pub next_request: u64,
    pub pairing: Option<Pairing>,
    pub message: Option<String>,
    pub online: bool,
    pub captive: bool,
    pub suspended: bool,
    /// The server's last count of the persons in the area behind this gate. Absent before the first count.
    pub area: Option<Area>,
    /// Persons added at all doors, as the server last counted them.
    pub walk_ins_told: Option<Area>,
    /// When an organiser last asked this device to ring, as the last heartbeat's answer said. Absent if nobody did.
    pub rung_at: Option<Timestamp>,
    /// The gate that staff chose on this device and that the server knows of.
    pub gate_told: Option<GateId>,
    /// The state when the heartbeat under way left.
    pub beat: Beat,
    /// The newest request that had left when the server answered that it does not know this device's key. Only the
    /// answer to a later request can show that the server knows the key again. Absent if the server knows it.
    pub key_unknown: Option<u64>,
    /// The request whose answer is being handled.
    pub answering: u64,
    /// The newest list that the server mentioned. Absent if the device has it.
    pub named: Option<(Epoch, u64)>,
    /// The estimated time when the server last said that the active list is the newest, in milliseconds.
    pub list_checked_ms: Option<i64>,
    pub proofs: Proofs,
    /// The witness that each request under way carries.
    pub carried: BTreeMap<u64, String>,
    pub witness_kept_at: i64,
    pub epoch_seen: Option<Epoch>,
    pub asking: Option<Asking>,
    /// Claims about which the screen asks staff something, such as how many persons of a party go in. A claim's rows
    /// don't record that question. With each claim is the server's answer to it, if one came.
    pub questions: BTreeMap<ScanId, Option<Box<OnlineAnswer>>>,
    pub way: Option<Way>,
    /// The monotonic clock when a code was last read.
    pub used_at: Option<i64>,
    /// Whether the other keyboard layout of the hardware reader is tried first, because the last ticket was found by
    /// it.
    pub other_layout: bool,
    pub batch: Option<Batch>,
    /// Seqs of the scans whose receipt is being written to the journal. Meanwhile the device does not upload them
    /// again.
    pub settling: BTreeSet<u64>,
    /// The most scans of the next batch. It is halved to isolate a scan that the server cannot read.
    pub chunk: usize,
    /// The monotonic clock of each upload of the last minute.
    pub uploads: VecDeque<i64>,
    pub poison_at: i64,
    /// The seq of the unreadable scan that the device uploaded last.
    pub poison_tried: u64,
    /// The monotonic time from which scans are uploaded again whose event the server did not know before.
    pub elsewhere_at: i64,
    /// Whether staff pressed Sync, so that the next upload does not wait for its interval.
    pub rush: bool,
    /// Whether the list must be fetched whole, because the cached one is signed under a key that was rotated out.
    pub whole_next: bool,
    pub measured: super::figures::Measured,
    pub last_view: Option<Drawn>,
    pub wake: Option<i64>,
    /// The rows that this session may purge. Absent if there are none.
    pub purge: Option<Purge>,
}

impl State {
    pub fn mono(&self) -> i64 {
        self.now.map_or(0, |now| now.mono_ms)
    }

    /// Fresh random bytes. Any number of draws per input is derived from the 32 bytes that the input brought.
    pub fn draw(&mut self) -> [u8; 32] {
        self.draws += 1;
        let random = self.now.map(|now| now.random).unwrap_or_default();
        Sha256::new().chain_update(random).chain_update(self.draws.to_be_bytes()).finalize().into()
    }
    pub fn draw_uuid(&mut self) -> String {
        let mut half = [0; 16];
        half.copy_from_slice(&self.draw()[..16]);
        crate::ids::uuid_v4(half)
    }
    pub fn jitter(&mut self) -> u32 {
        let drawn = self.draw();
        u32::from_be_bytes([drawn[0], drawn[1], drawn[2], drawn[3]])
    }

    pub fn emit(&mut self, effect: Effect) {
        let now = self.mono();
        self.measured.effect(&effect, now);
        self.out.push(effect);
    }
    pub fn refuse(&mut self, code: &str, message: &str) {
        self.emit(Effect::Refused { code: code.to_owned(), message: message.to_owned() });
    }

    /// The device's pairing. `None` if it is not paired.
    pub fn paired(&self) -> Option<&Paired> {
        self.journal.paired.as_ref()
    }
    /// The rules of this device's gate, by its list. `None` without a pairing or a list.
    pub fn gate(&self) -> Option<&GateRules> {
        self.list.as_ref()?.gates.get(&self.paired()?.gate_id)
    }
    /// The direction of scans now: the gate's, or the operator's choice at a gate that leads both ways.
    pub fn direction(&self) -> Direction {
        match self.gate().map(|gate| gate.direction) {
            Some(Direction::Both) => self.journal.direction.unwrap_or(Direction::In),
            Some(direction) => direction,
            None => Direction::In,
        }
    }

    /// Whether a row is being written, or the server is asked about a claim. Staff's inputs, pairings and assignments
    /// wait meanwhile.
    pub fn busy(&self) -> bool {
        self.writer.flight.is_some() || self.asking.is_some()
    }

    /// Writes the rows of [`Self::note`], and after them `entries`. No append may be under way.
    pub fn append(&mut self, entries: Vec<Entry>, after: Vec<After>) {
        let mut all = std::mem::take(&mut self.writer.rows);
        let noted = all.len();
        all.extend(entries);
        if all.is_empty() {
            return;
        }
        self.writer.appends += 1;
        let append = self.writer.appends;
        let first = self.journal.rows + 1;
        let texts = all.iter().map(rows::write).zip(first..).map(|(text, n)| Row { n, text }).collect();
        self.writer.flight = Some(Flight { append, entries: all, noted, after });
        self.emit(Effect::Append { append, rows: texts });
    }

    /// Adds a row on which no answer to staff depends. It is written with the next append.
    pub fn note(&mut self, entry: Entry) {
        if !self.writer.lost {
            self.writer.rows.push(entry);
        }
    }

    /// Adds the rows of a durable append to the state. Returns the actions that waited for the append. `None` if no
    /// such append is under way.
    pub fn appended(&mut self, append: u64) -> Option<Vec<After>> {
        let flight = self.writer.flight.take_if(|flight| flight.append == append)?;
        for entry in flight.entries {
            self.journal.apply(entry);
        }
        self.writer.blocked = None;
        if self.writer.rows.is_empty() {
            self.settling.clear();
        }
        Some(flight.after)
    }

    /// Handles an append that failed. An act that staff waited for counts as never done. Rows that nobody waited for
    /// are tried again.
    pub fn append_failed(&mut self, append: u64, reason: String) {
        let Some(mut flight) = self.writer.flight.take_if(|flight| flight.append == append) else { return };
        self.writer.lost |= reason == "lost_lock";
        flight.entries.truncate(flight.noted);
        flight.entries.append(&mut self.writer.rows);
        self.writer.rows = flight.entries;
        self.writer.probe_at = self.mono() + limits::STORAGE_PROBE_MS;
        if flight.after.contains(&After::Pair) {
            self.pairing = None; // A device without an id cannot ask. Staff begin again once storage works.
        }
        if self.pairing.is_some() && flight.after.iter().any(|after| matches!(after, After::Settled(_))) {
            self.failed(&Ask::Pair); // The key was not stored, so the device asks for it again after a pause.
        }
        if !flight.after.is_empty() {
            self.refuse("storage_blocked", "Nothing was recorded: this device's storage refuses. Admit nobody on it.");
        }
        self.writer.blocked = Some(reason);
    }
}
