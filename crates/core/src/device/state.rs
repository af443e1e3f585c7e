//! The engine's state between two inputs, and the one way in which rows get into the journal.
//!
//! Nothing that is journalled changes the state before its append is durable. While one append is under way, further
//! inputs that need one wait their turn. They are decided after it, on the state that it leaves.

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
    /// A scan was undone.
    Undone {
        /// The scan that was undone.
        scan_id: ScanId,
        /// Persons taken back.
        persons: u32,
    },
    /// Tell that the PIN was wrong.
    PinRefused,
    /// Tell that the PIN was right.
    PinOk,
    /// A claim is durable: the server is asked about it before the door opens.
    Ask(ScanId),
    /// The phone has a name: the pairing may be asked for.
    Pair,
    /// A pairing or a new assignment holds: begin with the list. The event before it.
    Settled(Option<EventId>),
}

/// An append under way.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub append: u64,
    pub entries: Vec<Entry>,
    /// How many of them, from the first, nobody waited for.
    pub noted: usize,
    pub after: Vec<After>,
}

/// The journal's writer: one append at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    pub appends: u64,
    pub flight: Option<Flight>,
    /// Rows that nobody waits for; they go with the next append.
    pub rows: Vec<Entry>,
    /// Inputs that wait for the append under way.
    pub inputs: VecDeque<Input>,
    /// Why storage refuses.
    pub blocked: Option<String>,
    /// Another tab is the writer now: this one never writes or uploads again.
    pub lost: bool,
    /// When to try storage again.
    pub probe_at: i64,
}

/// The subject of a request under way.
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
    /// `of`: the epoch of the list it names.
    Changes {
        event_id: EventId,
        of: Epoch,
    },
    /// `seen`: the newest change known when it was asked.
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

/// The lanes, one a kind.
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

/// A claim that the server is asked about; its verdict waits for that. One at a time: what comes next is decided on the
/// state its final leaves.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub scan_id: ScanId,
    /// Monotonic clock: from here on the device decides alone.
    pub until_mono_ms: i64,
    /// How it ended: the server's word, or none.
    pub word: Option<Option<Box<OnlineAnswer>>>,
}

/// How quick the server answered last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// Monotonic clock of the answer.
    pub at_mono_ms: i64,
    pub round_ms: i64,
    /// [`Clock::gaps_ms`] then: a phone that slept since no longer knows its round trip.
    pub gaps_ms: i64,
}

/// A pairing under way.
#[derive(Debug, Clone)]
pub(super) struct Pairing {
    pub token: String,
    pub server: Option<String>,
    pub name: String,
    /// This phone asked for itself (spec D11 way (b)); the token is empty until the server gave one.
    pub own: Option<Own>,
}

/// A pairing that an organiser is to approve.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub claim_secret: String,
    /// Monotonic clock of the code's end.
    pub until_mono_ms: i64,
}

/// The upload under way: its id and content stay as they are until it is answered (spec D2).
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub id: BatchId,
    pub seqs: Vec<u64>,
    pub body: String,
}

/// A beginning of the journal that may go once the clock is confirmed: its rows, as storage gave them at the start.
#[derive(Debug)]
pub(super) struct Purge {
    /// Those not purged yet.
    pub rows: VecDeque<Row>,
    /// The sum of the rows before them.
    pub summed: Journal,
    /// The last scan among them.
    pub seq: u64,
}

/// The view that the page was last told to draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    /// Without its countdown.
    pub view: View,
    /// When that countdown ends, monotonic clock.
    pub retry_at: Option<i64>,
    /// [`Journal::rows`] that its history and problems are of.
    pub rows: u64,
}

/// The area behind a gate, as the server last counted who is in it.
#[derive(Debug, Clone)]
pub struct Area {
    pub event_id: EventId,
    pub gate_id: GateId,
    /// Persons inside the area.
    pub inside: u32,
    /// The newest change that was in it: epoch, serial.
    pub at: (Epoch, u64),
    /// When, by the monotonic clock.
    pub heard_mono_ms: i64,
    /// This device as it was when the heartbeat that asked for it left.
    pub beat: Beat,
}

/// This device as it was when a heartbeat left.
#[derive(Debug, Clone, Default)]
pub struct Beat {
    /// It had a list.
    pub listed: bool,
    /// Seqs no receipt named.
    pub unsent: BTreeSet<u64>,
    /// The last seq there was.
    pub head: u64,
    /// The gate it told that staff had chosen on it.
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
    /// Versions of the deltas kept in the cache over the whole list.
    pub deltas: Vec<u64>,
    pub feed: Feed,
    /// Guests' names, where this gate allows them.
    pub names: Option<NameBook>,
    /// Version of the list under which the server refused names: not asked again under the same.
    pub names_refused: Option<u64>,
    /// The names held are signed under a key that is rotated out.
    pub names_whole: bool,
    /// The newest of the event's changes that a heartbeat named.
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
    /// The server's last count of the area behind this gate; absent until it came.
    pub area: Option<Area>,
    /// Persons added at all doors, as the server last counted them.
    pub walk_ins_told: Option<Area>,
    /// When an organiser last looked for this device, as the last heartbeat's answer said.
    pub rung_at: Option<Timestamp>,
    /// The gate that staff chose here and that the server heard of.
    pub gate_told: Option<GateId>,
    /// The heartbeat under way.
    pub beat: Beat,
    /// The server does not know the key: the newest request that had left when it said so. Only an answer to a later
    /// one says otherwise.
    pub key_unknown: Option<u64>,
    /// The request whose answer is being taken in.
    pub answering: u64,
    /// The newest list the server spoke of, while there is none or an older one here.
    pub named: Option<(Epoch, u64)>,
    /// True time when the server last said that the active list is the newest.
    pub list_checked_ms: Option<i64>,
    pub proofs: Proofs,
    /// The witness that each request under way carries.
    pub carried: BTreeMap<u64, String>,
    pub witness_kept_at: i64,
    pub epoch_seen: Option<Epoch>,
    pub asking: Option<Asking>,
    /// Claims whose question is on the screen though their row says otherwise, with the server's word where it spoke.
    pub questions: BTreeMap<ScanId, Option<Box<OnlineAnswer>>>,
    pub way: Option<Way>,
    /// Monotonic clock when a code was read last.
    pub used_at: Option<i64>,
    /// The hardware reader follows the other keyboard layout: a ticket was found by it last.
    pub other_layout: bool,
    pub batch: Option<Batch>,
    /// Seqs whose receipt is on its way into the journal: not to be offered again meanwhile.
    pub settling: BTreeSet<u64>,
    /// Scans of the next batch; halved to isolate a poison scan.
    pub chunk: usize,
    /// Monotonic clock of the last minute's uploads.
    pub uploads: VecDeque<i64>,
    pub poison_at: i64,
    /// The unreadable scan that was offered last.
    pub poison_tried: u64,
    /// Monotonic clock from which scans of an event that the server doesn't have are offered again.
    pub elsewhere_at: i64,
    /// Staff pressed Sync: the next upload does not wait for its rhythm.
    pub rush: bool,
    /// The list must be fetched whole: the kept one is signed under a key that is rotated out.
    pub whole_next: bool,
    pub measured: super::figures::Measured,
    pub last_view: Option<Drawn>,
    pub wake: Option<i64>,
    /// The rows that this session may purge; absent where there are none.
    pub purge: Option<Purge>,
}

impl State {
    pub fn mono(&self) -> i64 {
        self.now.map_or(0, |now| now.mono_ms)
    }

    /// Fresh random bytes: as many draws an input as are needed from its 32.
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

    /// The pairing whose key still works for this device.
    pub fn paired(&self) -> Option<&Paired> {
        self.journal.paired.as_ref()
    }
    /// The gate this device stands at, by its list.
    pub fn gate(&self) -> Option<&GateRules> {
        self.list.as_ref()?.gates.get(&self.paired()?.gate_id)
    }
    /// Which way scans go now.
    pub fn direction(&self) -> Direction {
        match self.gate().map(|gate| gate.direction) {
            Some(Direction::Both) => self.journal.direction.unwrap_or(Direction::In),
            Some(direction) => direction,
            None => Direction::In,
        }
    }

    /// Whether a row or a verdict is under way: staff's inputs, pairings and assignments wait for it.
    pub fn busy(&self) -> bool {
        self.writer.flight.is_some() || self.asking.is_some()
    }

    /// Writes rows, and those that waited before them. Nothing may be under way.
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

    /// Writes a row that nobody waits for, with the next append.
    pub fn note(&mut self, entry: Entry) {
        if !self.writer.lost {
            self.writer.rows.push(entry);
        }
    }

    /// Takes an append's rows in. Gives what follows; `None` for an append that is not under way.
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

    /// An append did not happen: what staff waited for is as if it had never been meant; what only went with it is
    /// tried again.
    pub fn append_failed(&mut self, append: u64, reason: String) {
        let Some(mut flight) = self.writer.flight.take_if(|flight| flight.append == append) else { return };
        self.writer.lost |= reason == "lost_lock";
        flight.entries.truncate(flight.noted);
        flight.entries.append(&mut self.writer.rows);
        self.writer.rows = flight.entries;
        self.writer.probe_at = self.mono() + limits::STORAGE_PROBE_MS;
        if flight.after.contains(&After::Pair) {
            self.pairing = None; // Without a name it can ask nobody: staff begin anew once storage is well.
        }
        if self.pairing.is_some() && flight.after.iter().any(|after| matches!(after, After::Settled(_))) {
            self.failed(&Ask::Pair); // The key is nowhere: asked for again, but not as fast as the network goes.
        }
        if !flight.after.is_empty() {
            self.refuse("storage_blocked", "Nothing was recorded: this device's storage refuses. Admit nobody on it.");
        }
        self.writer.blocked = Some(reason);
    }
}
