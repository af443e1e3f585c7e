//! The engine's state between two inputs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::book::NameBook;
use super::feed::Feed;
use super::list::List;
use super::outbox::Outbox;
use super::pairing::Pairing;
use super::purge::Purge;
use super::recorder::Recorder;
use super::session::Session;
use super::uplink::{Answer, Kind, Refusal, Request, Uplink};
use super::upload::Uploads;
use crate::gate::{Direction, GateRules};
use crate::ids::{EventId, GateId, ScanId};
use crate::limits;
use crate::rule::Epoch;
use crate::time::Timestamp;
use crate::wire::engine::{Effect, Input, View};
use crate::wire::journal::{Entry, Paired};
use crate::wire::problem::Problem;
use crate::wire::scans::OnlineAnswer;

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
    pub uplink: Uplink,
    pub uploads: Uploads,
    pub pairing: Pairing,
    pub message: Option<String>,
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
    /// The newest list that the server mentioned. Absent if the device has it.
    pub named: Option<(Epoch, u64)>,
    /// The estimated time when the server last said that the active list is the newest, in milliseconds.
    pub list_checked_ms: Option<i64>,
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

    pub fn send(&mut self, request: Request) {
        self.uplink.send(&self.session, &mut self.out, self.recorder.journal(), request);
    }
    pub fn failed(&mut self, kind: Kind) {
        self.uplink.failed(&mut self.out, kind);
    }
    pub fn done(&mut self, kind: Kind, after_ms: i64) {
        self.uplink.done(kind, self.session.mono(), after_ms);
    }
    /// When the next upload may leave, by the monotonic clock. `None` if there is nothing to send.
    pub fn upload_at(&self) -> Option<i64> {
        self.uploads.due_at(self.recorder.journal(), self.uplink.lane(Kind::Sync), self.session.mono())
    }

    /// Handles an answer that is not a success.
    pub fn refused(&mut self, kind: Kind, answer: &Answer<'_>) {
        let refusal = self.uplink.refused(&mut self.out, kind, answer);
        self.follow_refusal(kind, refusal);
    }

    /// Follows what a refusal means for the device as a whole.
    pub fn follow_refusal(&mut self, kind: Kind, refusal: Refusal) {
        match refusal {
            Refusal::Failed => {}
            Refusal::Revoked(problem) => self.revoke(&problem),
            Refusal::Suspended(problem) => {
                if !self.uploads.held(&mut self.uplink, &mut self.recorder, &self.session, &problem) {
                    self.uplink.hold(kind, self.session.mono(), limits::SUSPENDED_EVERY_MS);
                }
            }
        }
    }

    /// Follows the organiser's revocation of this device. Guest data is removed at once, and the log is still uploaded
    /// (spec D10).
    fn revoke(&mut self, problem: &Problem) {
        self.emit(Effect::WipeCaches);
        self.uplink.cancel_all_but_the_log(&mut self.out);
        self.list = None;
        self.names = None;
        self.feed = Feed::default();
        self.deltas.clear();
        self.caches.clear();
        if !self.recorder.journal().revoked {
            self.recorder.note(Entry::Revoked { at_ms: self.session.at_ms() });
        }
        self.uploads.handed_over(&mut self.uplink, &mut self.recorder, &self.session, problem);
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
