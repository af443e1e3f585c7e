//! The engine's state between two inputs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::book::NameBook;
use super::feed::Feed;
use super::lane::Lane;
use super::list::List;
use super::outbox::Outbox;
use super::proofs::Proofs;
use super::purge::Purge;
use super::recorder::Recorder;
use super::session::Session;
use crate::gate::{Direction, GateRules};
use crate::ids::{BatchId, EventId, GateId, ScanId};
use crate::rule::Epoch;
use crate::time::Timestamp;
use crate::wire::engine::{Effect, Input, View};
use crate::wire::journal::Paired;
use crate::wire::scans::OnlineAnswer;

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

/// A claim that the server is asked about. Its verdict waits for the answer. Only one question is open at a time, since
/// the next code is decided on the state that this claim's final leaves.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub scan_id: ScanId,
    /// The monotonic clock from which the device decides alone.
    pub until_mono_ms: i64,
    /// How the question ended: with the server's answer, or without one (inner `None`). Absent while it is open.
    pub word: Option<Option<Box<OnlineAnswer>>>,
}

/// The last measured round trip to the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// The monotonic clock when the answer came.
    pub at_mono_ms: i64,
    pub round_ms: i64,
    /// [`Clock::gaps_ms`] at that time. If it has changed since, the phone slept or its clock was set, and the measured
    /// round trip is no longer valid.
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
    pub session: Session,
    pub out: Outbox,
    pub started: bool,
    pub recorder: Recorder,
    /// Staff's inputs that wait until the append under way is done.
    pub waiting: VecDeque<Input>,
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
    /// The server's last count of the area behind this gate. Absent until it came.
    pub area: Option<Area>,
    /// Persons added at all doors, as the server last counted them.
    pub walk_ins_told: Option<Area>,
    /// When an organiser last looked for this device, as the last heartbeat's answer said. Absent if nobody did.
    pub rung_at: Option<Timestamp>,
    /// The gate that staff chose on this device and that the server knows of.
    pub gate_told: Option<GateId>,
    /// The state when the heartbeat under way left.
    pub beat: Beat,
    /// The newest request that had left when the server said that it does not know the key. Only the answer to a later
    /// request can show otherwise. Absent if the server knows the key.
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
    /// Claims for which staff were asked a question that the claims' rows don't record, with the server's answer if one
    /// came.
    pub questions: BTreeMap<ScanId, Option<Box<OnlineAnswer>>>,
    pub way: Option<Way>,
    /// The monotonic clock when a code was last read.
    pub used_at: Option<i64>,
    /// Whether the other keyboard layout of the hardware reader is tried first, because the last ticket was found by
    /// it.
    pub other_layout: bool,
    pub batch: Option<Batch>,
    /// Seqs of the scans whose receipt is being journalled. They are not offered again meanwhile.
    pub settling: BTreeSet<u64>,
    /// Most scans of the next batch. It is halved to isolate a scan that the server cannot read.
    pub chunk: usize,
    /// The monotonic clock of each upload of the last minute.
    pub uploads: VecDeque<i64>,
    pub poison_at: i64,
    /// The seq of the unreadable scan that was offered last.
    pub poison_tried: u64,
    /// The monotonic time from which scans of an event that the server does not know are offered again.
    pub elsewhere_at: i64,
    /// Whether staff pressed Sync, so that the next upload does not wait for its interval.
    pub rush: bool,
    /// Whether the list must be fetched whole, because the cached one is signed under a key that was rotated out.
    pub whole_next: bool,
    pub last_view: Option<Drawn>,
    pub wake: Option<i64>,
    pub purge: Purge,
}

impl State {
    pub fn mono(&self) -> i64 {
        self.session.mono()
    }
    pub fn emit(&mut self, effect: Effect) {
        self.out.emit(effect);
    }
    pub fn refuse(&mut self, code: &str, message: &str) {
        self.out.refuse(code, message);
    }

    /// The device's pairing. `None` if it is not paired.
    pub fn paired(&self) -> Option<&Paired> {
        self.recorder.journal().paired.as_ref()
    }
    /// The rules of this device's gate, by its list. `None` without a pairing or a list.
    pub fn gate(&self) -> Option<&GateRules> {
        self.list.as_ref()?.gates.get(&self.paired()?.gate_id)
    }
    /// The direction of scans now: the gate's, or the operator's choice at a gate that leads both ways.
    pub fn direction(&self) -> Direction {
        match self.gate().map(|gate| gate.direction) {
            Some(Direction::Both) => self.recorder.journal().direction.unwrap_or(Direction::In),
            Some(direction) => direction,
            None => Direction::In,
        }
    }

    /// Whether a row is being written or a question is open. Staff's inputs, pairings and assignments wait meanwhile.
    pub fn busy(&self) -> bool {
        self.recorder.is_writing() || self.asking.is_some()
    }

    /// Does one step of the purge at a quiet moment.
    pub fn purge(&mut self) {
        let rests = self.recorder.rests() && self.asking.is_none() && self.waiting.is_empty();
        if rests
            && !self.in_use()
            && let Some(row) = self.purge.step(self.recorder.journal(), self.session.clock())
        {
            self.emit(Effect::Purge { row });
        }
    }
}
