//! One virtual phone: the real engine with a disk, a clock and a network. This module does for the engine what the web
//! page does on a real phone.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::device::Engine;
use admit_core::ids::{DeviceId, LogId, ScanId};
use admit_core::rule::Epoch;
use admit_core::scan::Digest;
use admit_core::sign;
use admit_core::wire::engine::{Effect, Input, Now, Phase, Row, View};
use admit_core::wire::journal::{self, Entry, Scanned};
use admit_core::wire::scanning::Witness;

use crate::clock::PhoneClock;
use crate::disk::Disk;
use crate::rng::Rng;
use crate::server::Response;

/// An append that is under way.
#[derive(Debug, Clone)]
pub struct Writing {
    /// The rows to write.
    pub rows: Vec<Row>,
    /// The true time when its scan got its time, in milliseconds.
    pub at_ms: i64,
}

/// A scan on stable storage.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The scan as it is in the journal.
    pub scanned: Scanned,
    /// The digest of the scan.
    pub digest: Digest,
    /// The true time, in milliseconds, at which the phone stamped the scan. `None` if its clock was doubtful then, so
    /// that its uncertainty need not hold.
    pub true_ms: Option<i64>,
    /// The value of [`Phone::gone_back`] when the scan was made.
    pub gone_back: u64,
}

/// A phone.
#[derive(Debug)]
pub struct Phone {
    /// The engine; `None` while the app does not run.
    pub engine: Option<Engine>,
    /// The phone's storage.
    pub disk: Disk,
    /// The phone's clocks.
    pub clock: PhoneClock,
    /// The number of starts. Results of work from before the last start are ignored.
    pub generation: u64,
    /// The appends under way, by number.
    pub writing: BTreeMap<u64, Writing>,
    /// The last heartbeat that was sent, with the true time then; `None` before the first.
    pub beat: Option<(u64, i64)>,
    /// The true time when the last answered heartbeat was sent, in milliseconds.
    pub heard_ms: i64,
    /// The requests under way, each with the monotonic clock when it left.
    pub requests: BTreeMap<u64, i64>,
    /// The number of the last requested wake-up.
    pub wake: u64,
    /// The true time until which there is no network, in milliseconds.
    pub offline_until: i64,
    /// The true time until which the phone sleeps, in milliseconds.
    pub asleep_until: i64,
    /// The last view that the engine gave; `None` before the first.
    pub view: Option<View>,
    /// Scans on stable storage, in the order of the log.
    pub kept: Vec<Kept>,
    /// Places in the log of the scans whose receipt or final refusal is on stable storage, each with the server's epoch
    /// then. When that epoch is over, the scan counts as not yet received.
    pub done: BTreeMap<u64, Option<Epoch>>,
    /// Places that were refused finally, in any epoch.
    pub refused: BTreeSet<u64>,
    /// How often the phone set a scan apart, to send it later and alone, because the server refused a whole batch with
    /// it.
    pub set_apart: u64,
    /// Whether its key was erased and no other was given since.
    pub key_erased: bool,
    /// The scans whose verdict was shown.
    pub shown: BTreeSet<ScanId>,
    /// The device id and the log id of this storage; `None` before they are journalled.
    pub identity: Option<(DeviceId, LogId)>,
    /// Epoch and version of the newest list that the journal names; `None` without one.
    pub list: Option<(Epoch, u64)>,
    /// How often the phone was paired with a server whose epoch was older than that of the phone's list.
    pub gone_back: u64,
    /// Whether its storage was put back to an older copy.
    pub put_back: bool,
    /// The witness of the last request; `None` without one.
    pub witness: Option<String>,
    /// Epoch and serial of the newest witness on stable storage.
    pub proof: Option<(Epoch, u64)>,
    /// The witness of each request under way. It is recorded only if the database's files may be copied back without
    /// `admit restore`.
    pub carried: BTreeMap<u64, Option<String>>,
    /// The witness of the last answered request.
    pub shown_proof: Option<String>,
    /// Whether the wall clock was set while the engine could not see it, or in a way that looks like sleep.
    pub clock_doubtful: bool,
    /// Whether the clock was set or the phone slept since the engine last read it. A second such event would hide the
    /// first.
    pub stepped_unseen: bool,
    /// The true time when the wall clock was last set; `None` once a later row of the journal is on stable storage.
    pub stepped: Option<i64>,
    /// The number of pairings refused because the server knows this device by a key that the phone does not have.
    pub taken: u32,
    /// The last code that was shown to it.
    pub last_code: Option<String>,
    /// The last list that it got, for replays.
    pub old_list: Option<Response>,
    random: Rng,
    sessions: u64,
}

/// The error that the journal names an older list after a newer one. Its text says which lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WentBack(pub String);

impl Phone {
    /// Makes a new phone. Its random numbers do not depend on its organisation. So phones of two organisations make the
    /// same ids, which tests that the server keeps the organisations apart (trust §3).
    pub fn new(seed: u64, index: u64, clock: PhoneClock) -> Self {
        Self {
            engine: None,
            disk: Disk::default(),
            clock,
            generation: 0,
            writing: BTreeMap::new(),
            beat: None,
            heard_ms: 0,
            requests: BTreeMap::new(),
            wake: 0,
            offline_until: 0,
            asleep_until: 0,
            view: None,
            kept: Vec::new(),
            done: BTreeMap::new(),
            refused: BTreeSet::new(),
            set_apart: 0,
            key_erased: false,
            shown: BTreeSet::new(),
            identity: None,
            list: None,
            gone_back: 0,
            put_back: false,
            witness: None,
            proof: None,
            carried: BTreeMap::new(),
            shown_proof: None,
            clock_doubtful: false,
            stepped_unseen: false,
            stepped: None,
            taken: 0,
            last_code: None,
            old_list: None,
            random: Rng::of(seed, "phone", index),
            sessions: 0,
        }
    }

    /// The scanner's phase in its last view.
    pub fn phase(&self) -> Phase {
        self.view.as_ref().map_or(Phase::Unpaired, |view| view.phase)
    }
    /// The number of scans without a receipt in its last view.
    pub fn unsent(&self) -> u64 {
        self.view.as_ref().map_or(0, |view| view.unsent)
    }

    /// Records that a request was answered.
    pub fn answered(&mut self, request: u64) {
        self.shown_proof = self.carried.remove(&request).flatten();
    }
    /// Whether the server has answered requests with all witnesses that the phone holds. The phone sends one witness
    /// with each request, the newest last.
    pub fn has_shown_proof(&self) -> bool {
        let shown = self.shown_proof.as_ref().and_then(|text| text.parse().ok()).map(place);
        self.proof.is_none_or(|(epoch, serial)| shown.is_some_and(|(of, at)| of != epoch || at >= serial))
    }

    /// Feeds one input to the engine at true time `now_ms`, and gives the effects.
    pub fn feed(&mut self, now_ms: i64, input: Input, body: &[u8]) -> Vec<Effect> {
        let now = Now {
            wall_ms: self.clock.wall_ms(now_ms),
            mono_ms: self.clock.mono_ms(now_ms),
            random: self.random.bytes(),
        };
        self.stepped_unseen = false;
        self.engine.as_mut().map(|engine| engine.handle(input, body, &now)).unwrap_or_default()
    }

    /// Starts the app: it reads the storage and starts the engine. Gives the first effects.
    pub fn start(&mut self, now_ms: i64, lose_last_row: bool) -> Vec<Effect> {
        self.generation += 1;
        self.sessions += 1;
        self.clock.restart(now_ms);
        self.engine = Some(Engine::new());
        self.requests.clear();
        self.carried.clear();
        self.shown_proof = None;
        let mut rows = self.disk.rows().to_vec();
        if lose_last_row && rows.last().is_some_and(|row| row.text.contains("\"t\":\"scan\"")) {
            rows.pop();
        }
        let start = Input::Start {
            session_id: format!("session-{}", self.sessions),
            rows,
            app_version: "1.0.0".into(),
            device_type: "phone".into(),
        };
        let mut effects = self.feed(now_ms, start, &[]);
        for (key, body) in self.disk.cached().clone() {
            effects.extend(self.feed(now_ms, Input::Cache { key }, &body));
        }
        effects.extend(self.feed(now_ms, Input::Started, &[]));
        effects
    }

    /// Ends the app. Everything in memory is lost.
    pub fn kill(&mut self) {
        // A clock change that was not journalled is lost with the session, and the next session has only the wall
        // clock.
        self.clock_doubtful |= self.stepped.is_some();
        self.generation += 1;
        self.engine = None;
        self.requests.clear();
        self.beat = None;
        self.view = None;
        self.disk.lose_power();
    }

    /// Clears all site data. To everybody else it is a new phone then.
    pub fn clear(&mut self) {
        self.kill();
        self.disk.clear();
        self.writing.clear();
        self.kept.clear();
        self.done.clear();
        self.refused.clear();
        self.key_erased = false;
        self.shown.clear();
        (self.identity, self.list, self.witness, self.proof, self.old_list) = (None, None, None, None, None);
        (self.taken, self.put_back) = (0, false);
    }

    /// Puts the storage back to an earlier state, like a restored phone. Later rows are lost, and their places in the
    /// log are used again. I10 no longer applies to the phone's clock.
    pub fn put_back(&mut self, rows: usize) -> Result<(), WentBack> {
        let (kept, identity, gone_back) = (std::mem::take(&mut self.kept), self.identity.clone(), self.gone_back);
        self.done.clear();
        self.refused.clear();
        self.key_erased = false;
        (self.identity, self.list, self.witness, self.proof, self.old_list) = (None, None, None, None, None);
        self.disk.put_back(rows);
        let rows = self.disk.rows().to_vec();
        self.note(&rows, 0)?;
        // The scans that are left keep what the simulator recorded when they were made.
        let again = self.kept.len();
        self.kept = kept.into_iter().take(again).collect();
        let there: BTreeSet<&ScanId> = self.kept.iter().map(|kept| &kept.scanned.scan.scan_id).collect();
        self.shown.retain(|scan_id| there.contains(scan_id));
        (self.identity, self.gone_back) = (self.identity.take().or(identity), gone_back + 1);
        (self.put_back, self.clock_doubtful, self.stepped) = (true, true, None);
        Ok(())
    }

    /// Records what rows say that have become durable.
    pub fn note(&mut self, rows: &[Row], at_ms: i64) -> Result<(), WentBack> {
        self.stepped = self.stepped.filter(|stepped| at_ms <= *stepped);
        for row in rows {
            match journal::read(&row.text) {
                Some(Entry::Log { device_id, log_id }) => self.identity = Some((device_id, log_id)),
                Some(Entry::Scan(scanned)) => {
                    let digest = sign::content_digest(&scanned.scan);
                    let true_ms = Some(at_ms).filter(|_| !self.clock_doubtful);
                    self.kept.push(Kept { scanned: *scanned, digest, true_ms, gone_back: self.gone_back });
                }
                // If a person paired the phone with a server of an older epoch, that epoch counts from now on, and so
                // do its lists.
                Some(Entry::Paired(paired)) => {
                    self.key_erased = false;
                    let holds = |list: &(Epoch, u64)| paired.epoch.is_none_or(|epoch| list.0 <= epoch);
                    let kept = self.list.filter(holds);
                    self.gone_back += u64::from(kept != self.list);
                    self.list = kept;
                }
                Some(Entry::List { epoch, version, .. }) => {
                    if self.list.is_some_and(|held| held > (epoch, version)) {
                        return Err(WentBack(format!("from {:?} to {epoch}.{version}", self.list)));
                    }
                    self.list = Some((epoch, version));
                }
                Some(Entry::Received { epoch, seqs, .. }) => {
                    self.done.extend(seqs.iter().flat_map(|(from, to)| *from..=*to).map(|seq| (seq, epoch)));
                }
                Some(Entry::Rejected { epoch, items }) => {
                    self.done.extend(items.iter().map(|item| (item.seq, epoch)));
                    self.refused.extend(items.iter().map(|item| item.seq));
                }
                Some(Entry::Poison { .. }) => self.set_apart += 1,
                Some(Entry::KeyErased { .. }) => self.key_erased = true,
                Some(Entry::Witness { text, .. }) => self.proof = text.parse().ok().map(place),
                Some(Entry::Epoch { epoch }) => self.done.retain(|_, of| *of == Some(epoch)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn place(witness: Witness) -> (Epoch, u64) {
    (witness.epoch, witness.serial)
}
