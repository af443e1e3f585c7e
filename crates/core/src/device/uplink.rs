//! The uplink: requests and answers in general (spec §3 "Epoch and witness", D10, D19; trust fault 5). It
//! handles the parts that all requests and answers have in common, and finds the answers that do not come from Admit at
//! all.

use std::collections::BTreeMap;

use super::journal::Journal;
use super::lane::Lane;
use super::outbox::Outbox;
use super::proofs::Proofs;
use super::recorder::Recorder;
use super::session::Session;
use crate::ids::{EventId, ScanId};
use crate::limits;
use crate::manifest::compact;
use crate::rule::Epoch;
use crate::time::Timestamp;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;
use crate::wire::problem::Problem;
use crate::wire::scanning::{DEVICE_TIME_HEADER, WITNESS_HEADER, Witness};
use crate::wire::stored::from_json;

/// The kinds of requests. Each has a lane of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Pair,
    Time,
    List,
    Changes,
    Names,
    Heartbeat,
    Sync,
    Status,
    Scan,
    Ping,
}

/// The number of kinds.
const KINDS: usize = Kind::Ping as usize + 1;

/// The kinds of requests, with what each is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Pair,
    Time {
        gaps_ms: i64,
    },
    List {
        event_id: EventId,
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

impl Ask {
    /// The kind of the request.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Pair => Kind::Pair,
            Self::Time { .. } => Kind::Time,
            Self::List { .. } => Kind::List,
            Self::Changes { .. } => Kind::Changes,
            Self::Names { .. } => Kind::Names,
            Self::Heartbeat => Kind::Heartbeat,
            Self::Sync => Kind::Sync,
            Self::Status { .. } => Kind::Status,
            Self::Scan { .. } => Kind::Scan,
            Self::Ping => Kind::Ping,
        }
    }
}

/// The server to which a request goes.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// The server with which the device is paired.
    Paired,
    /// The server that a pairing link named. Absent if it named none: then it is the page's own.
    Link(Option<String>),
}

/// A request that is to leave.
#[derive(Debug)]
pub(super) struct Request {
    pub ask: Ask,
    pub path: String,
    /// The JSON body. A request with a body is a `POST`, and one without is a `GET`.
    pub body: Option<String>,
    pub timeout_ms: u64,
    /// The value of `If-None-Match`. Absent if the device needs the whole.
    pub etag: Option<String>,
    pub origin: Origin,
}

impl Request {
    /// A request that reads.
    pub fn get(ask: Ask, path: String, timeout_ms: u64) -> Self {
        Self { ask, path, body: None, timeout_ms, etag: None, origin: Origin::Paired }
    }
    /// A request that brings something.
    pub fn post(ask: Ask, path: &str, body: String, timeout_ms: u64) -> Self {
        Self { ask, path: path.to_owned(), body: Some(body), timeout_ms, etag: None, origin: Origin::Paired }
    }
}

/// One answer of the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub status: u16,
    pub headers: &'a [(String, String)],
    pub body: &'a [u8],
    pub sent_mono_ms: i64,
}

impl<'a> Answer<'a> {
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }
    /// The answer's JSON. `None` unless it is a success of the expected shape.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        (self.status == 200).then(|| from_json(self.body).ok()).flatten()
    }
    /// The answer's problem. `None` unless it is an error in Admit's form.
    pub fn problem(&self) -> Option<Problem> {
        let problem: Problem = (self.status >= 400).then(|| from_json(self.body).ok()).flatten()?;
        (!problem.code.is_empty()).then_some(problem)
    }
    /// The witness that the answer carries, with its text. `None` if it carries none that can be read.
    pub fn witness(&self) -> Option<(Witness, &'a str)> {
        let text = self.header(WITNESS_HEADER)?;
        Some((text.parse().ok()?, text))
    }
    fn retry_after_ms(&self) -> Option<i64> {
        let seconds: i64 = self.header("retry-after")?.trim().parse().ok()?;
        Some(seconds.saturating_mul(1_000).clamp(0, limits::RETRY_AFTER_MAX_MS))
    }
}

/// The meaning of an answer that is not a success, for the device as a whole.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Nothing more than that the request failed.
    Failed,
    /// The organiser revoked this device.
    Revoked(Box<Problem>),
    /// The organiser suspended this device. The server may have stored the scans of the upload under way.
    Suspended(Box<Problem>),
}

/// The requests under way, their timing, and what is known of the server behind them.
#[derive(Debug, Default)]
pub(super) struct Uplink {
    lanes: [Lane; KINDS],
    requests: BTreeMap<u64, Ask>,
    next_request: u64,
    /// The request whose answer is being handled.
    answering: u64,
    online: bool,
    captive: bool,
    suspended: bool,
    /// The newest request that had left when the server answered that it does not know this device's key. Only the
    /// answer to a later request can show that the server knows the key again. Absent if the server knows it.
    key_unknown: Option<u64>,
    proofs: Proofs,
    /// The witness that each request under way carries.
    carried: BTreeMap<u64, String>,
    witness_kept_at: i64,
    epoch_seen: Option<Epoch>,
}

impl Uplink {
    /// Whether the last answer came from Admit.
    pub fn is_online(&self) -> bool {
        self.online
    }
    /// Whether a captive portal or a proxy answers instead of the server.
    pub fn is_captive(&self) -> bool {
        self.captive
    }
    /// Whether the organiser suspended this device.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }
    /// Whether the server said that it does not know this device's key.
    pub fn is_key_unknown(&self) -> bool {
        self.key_unknown.is_some()
    }
    /// Epoch and serial of the newest witness. `None` if there is none.
    pub fn newest_proof(&self) -> Option<(Epoch, u64)> {
        self.proofs.newest()
    }
    /// The event to which the held witnesses belong. `None` if there are none.
    pub fn proven_event(&self) -> Option<&EventId> {
        self.proofs.event_id()
    }
    /// The newest epoch of the server that this device knows. `None` if it knows none.
    pub fn epoch(&self, journal: &Journal) -> Option<Epoch> {
        self.epoch_seen.or(journal.epoch)
    }

    // -------------------------------------------------------------------------------------------------------- lanes

    /// The lane of a kind of request.
    pub fn lane(&self, kind: Kind) -> &Lane {
        &self.lanes[kind as usize]
    }
    /// Ends a lane's own wait, because there is news ([`Lane::hurry`]).
    pub fn hurry(&mut self, kind: Kind, now_ms: i64) {
        self.lanes[kind as usize].hurry(now_ms);
    }
    /// Waits at least `for_ms`, even if something asks for a try ([`Lane::hold`]).
    pub fn hold(&mut self, kind: Kind, now_ms: i64, for_ms: i64) {
        self.lanes[kind as usize].hold(now_ms, for_ms);
    }
    /// Waits at least `for_ms`, unless there is news ([`Lane::pause`]).
    pub fn pause(&mut self, kind: Kind, now_ms: i64, for_ms: i64) {
        self.lanes[kind as usize].pause(now_ms, for_ms);
    }
    /// Begins a lane anew, without a wait.
    pub fn reset(&mut self, kind: Kind) {
        self.lanes[kind as usize] = Lane::default();
    }
    /// Asks again at once wherever requests failed, and sends a heartbeat. The network returned, or staff asked.
    pub fn hurry_all(&mut self, now_ms: i64) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.failures() > 0) {
            lane.ask_again(now_ms);
        }
        self.lanes[Kind::Heartbeat as usize].ask_again(now_ms);
    }
    /// Notes that a lane's request failed. The lane tries again later.
    pub fn failed(&mut self, out: &mut Outbox, kind: Kind) {
        let jitter = out.jitter();
        self.lanes[kind as usize].failed(out.mono(), jitter);
    }
    /// Notes that a lane's request is answered, although not by a success. The next one is due at once.
    pub fn settled(&mut self, kind: Kind, now_ms: i64) {
        self.lanes[kind as usize].done(now_ms, 0);
    }
    /// Notes that a lane's request succeeded. The next one is due in `after_ms`.
    pub fn done(&mut self, kind: Kind, now_ms: i64, after_ms: i64) {
        self.lanes[kind as usize].done(now_ms, after_ms);
        self.online = true;
        self.captive = false;
        // The server answers these requests without a key.
        let keyless = matches!(kind, Kind::Pair | Kind::Time | Kind::Ping);
        if !keyless && self.key_unknown.is_some_and(|asked| self.answering > asked) {
            // The server knows the key again. Its database was an older copy for a while, which lacked the key. Lanes
            // that waited for a new pairing go on.
            self.key_unknown = None;
            self.lanes.iter_mut().filter(|lane| lane.failures() > 0).for_each(|lane| lane.hurry(now_ms));
        }
    }

    // ----------------------------------------------------------------------------------------------------- requests

    /// Sends a request on the lane of its kind.
    pub fn send(&mut self, session: &Session, out: &mut Outbox, journal: &Journal, request: Request) {
        let Request { ask, path, body, timeout_ms, etag, origin } = request;
        self.next_request += 1;
        let request = self.next_request;
        let is_list = matches!(ask, Ask::List { .. });
        // A list comes in either form. The compact one is half as long.
        let accept = if is_list {
            format!("{}, application/json;q=0.9", compact::MEDIA_TYPE)
        } else {
            "application/json".to_owned()
        };
        let mut headers = vec![("accept".to_owned(), accept)];
        if let Some(key) = journal.api_key() {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.as_str())));
        }
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        self.recall_proofs(journal);
        if let Some(witness) = self.proofs.to_carry().map(str::to_owned) {
            self.carried.insert(request, witness.clone());
            headers.push((WITNESS_HEADER.to_owned(), witness));
        }
        headers.extend(etag.map(|etag| ("if-none-match".to_owned(), etag)));
        if is_list {
            let wall = Timestamp::clamped(session.wall_ms());
            headers.push((DEVICE_TIME_HEADER.to_owned(), wall.to_string()));
        }
        let server = match origin {
            Origin::Link(server) => server,
            Origin::Paired => journal.paired.as_ref().and_then(|paired| paired.server.clone()),
        };
        let urgent = matches!(ask, Ask::Scan { .. });
        self.lanes[ask.kind() as usize].sent(request);
        self.requests.insert(request, ask);
        let method = if body.is_some() { "POST" } else { "GET" }.to_owned();
        out.emit(Effect::Send { request, method, path, headers, body, timeout_ms, server, urgent });
    }

    /// Takes note that an answer came. Returns what its request was about. `None` if nobody waits for it any more.
    pub fn answered(&mut self, request: u64) -> Option<Ask> {
        let ask = self.requests.remove(&request)?;
        let lane = &mut self.lanes[ask.kind() as usize];
        if lane.request() == Some(request) {
            lane.drop_request();
        }
        self.answering = request;
        Some(ask)
    }

    /// Takes note that a request got no answer. Returns what it was about. `None` if nobody waits for it any more.
    pub fn unanswered(&mut self, request: u64) -> Option<Ask> {
        self.requests.remove(&request)
    }

    /// Notes that the server cannot be reached.
    pub fn lost(&mut self) {
        self.online = false;
    }

    /// Cancels a lane's request, if one is under way, and begins the lane anew.
    pub fn cancel(&mut self, out: &mut Outbox, kind: Kind) {
        if let Some(request) = self.lanes[kind as usize].drop_request() {
            self.requests.remove(&request);
            out.emit(Effect::Cancel { request });
        }
        self.reset(kind);
    }

    /// Cancels the requests of a revoked device, which would bring back what was just removed. Only the upload of the
    /// log and a new pairing go on.
    pub fn cancel_all_but_the_log(&mut self, out: &mut Outbox) {
        let goes_on = |ask: &Ask| matches!(ask.kind(), Kind::Sync | Kind::Status | Kind::Pair);
        for (request, ask) in std::mem::take(&mut self.requests) {
            if goes_on(&ask) {
                self.requests.insert(request, ask);
            } else {
                out.emit(Effect::Cancel { request });
                self.lanes[ask.kind() as usize].drop_request();
            }
        }
    }

    /// Begins anew with the server of a new pairing or assignment: every request is cancelled.
    pub fn start_over(&mut self, out: &mut Outbox) {
        self.key_unknown = None;
        self.suspended = false;
        self.epoch_seen = None;
        for request in std::mem::take(&mut self.requests).into_keys() {
            out.emit(Effect::Cancel { request });
        }
        self.lanes = Default::default();
    }

    // ------------------------------------------------------------------------------------------- witness and epoch

    /// Loads the witnesses of the present event from the journal, unless those in memory are of this event already.
    fn recall_proofs(&mut self, journal: &Journal) {
        let event_id = journal.paired.as_ref().map(|paired| &paired.event_id);
        if self.proofs.event_id() != event_id {
            let kept = event_id.and_then(|event_id| journal.witnesses.get(event_id));
            self.proofs = Proofs::recall(kept.map(Vec::as_slice).unwrap_or_default());
        }
    }

    /// Reads the witness that any answer may carry. Returns false if the answer comes from a state before a restore, so
    /// that nothing else of it may be trusted.
    pub fn follow(&mut self, recorder: &mut Recorder, now_ms: i64, answer: &Answer<'_>) -> bool {
        let Some((witness, text)) = answer.witness() else { return true };
        if recorder.journal().paired.as_ref().is_none_or(|paired| paired.event_id != witness.event_id) {
            return true;
        }
        let news = self.epoch(recorder.journal()) != Some(witness.epoch);
        if !self.follow_epoch(recorder, witness.epoch) {
            return false;
        }
        self.recall_proofs(recorder.journal());
        self.carried.retain(|request, _| *request == self.answering || self.requests.contains_key(request));
        let (before, carried) = (self.proofs.newest(), self.carried.remove(&self.answering));
        self.proofs.take(carried.as_deref(), witness, text);
        // The device trusts this epoch from now on, so the witness is stored. Without it, a device could prove nothing
        // if the server lost the epoch.
        let due = now_ms - self.witness_kept_at >= limits::WITNESS_EVERY_MS && self.proofs.newest() != before;
        if news || due {
            self.keep_witness(recorder, now_ms);
        }
        true
    }

    /// Journals the newest witness together with other rows. If the server is rolled back while this device is off, the
    /// device then detects that after its restart.
    pub fn keep_witness(&mut self, recorder: &mut Recorder, now_ms: i64) {
        let (Some(event_id), mut also) = (self.proofs.event_id().cloned(), self.proofs.texts()) else { return };
        if recorder.journal().witnesses.get(&event_id) == Some(&also) {
            return;
        }
        let Some(text) = also.pop() else { return };
        self.witness_kept_at = now_ms;
        recorder.note(Entry::Witness { event_id, text, also });
    }

    /// Compares the server's epoch with the one that this device knows. After a newer one, every receipt of the log
    /// must be confirmed. Returns false for an older one: the answer comes from a state before a restore.
    pub fn follow_epoch(&mut self, recorder: &mut Recorder, epoch: Epoch) -> bool {
        let known = self.epoch(recorder.journal());
        if known.is_none_or(|known| known < epoch) {
            self.epoch_seen = Some(epoch);
            recorder.note(Entry::Epoch { epoch });
        }
        known.is_none_or(|known| known <= epoch)
    }

    // ----------------------------------------------------------------------------------------------------- refusals

    /// Takes whether a heartbeat's answer said that this device is suspended.
    pub fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// Takes whether an answer that could not be used came from Admit, as its form shows.
    pub fn judge_origin(&mut self, is_ours: bool) {
        self.captive |= !is_ours;
        self.online &= is_ours;
    }

    /// Handles an answer that is not a success, as far as it concerns the lane and the network. Returns what it means
    /// for the device as a whole. The caller has handled what it means for the request itself.
    pub fn refused(&mut self, out: &mut Outbox, kind: Kind, answer: &Answer<'_>) -> Refusal {
        self.failed(out, kind);
        let now = out.mono();
        let lane = &mut self.lanes[kind as usize];
        if let Some(wait) = answer.retry_after_ms()
            && matches!(answer.status, 429 | 503)
        {
            lane.turned_away(now, wait);
        }
        let Some(problem) = answer.problem() else {
            // The answer is no problem in Admit's form: it comes from a captive portal, a proxy or another service. RFC
            // 6585 gives portals a status of their own: 511, Network Authentication Required.
            self.captive |= answer.status < 400 || answer.status == 511;
            self.online = false;
            return Refusal::Failed;
        };
        self.online = true;
        self.captive = false;
        match (answer.status, problem.code.as_str()) {
            (401, "unknown_key") => {
                self.key_unknown = Some(self.next_request);
                lane.pause(now, limits::RETRY_AFTER_MAX_MS);
                Refusal::Failed
            }
            (403, "device_revoked") => Refusal::Revoked(Box::new(problem)),
            (403, "device_suspended") => {
                self.suspended = true;
                Refusal::Suspended(Box::new(problem))
            }
            _ => Refusal::Failed,
        }
    }
}
