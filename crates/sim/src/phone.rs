//! One virtual phone: the real engine between a disk, a clock and a network, as the page around it would be.

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

/// An append under way.
#[derive(Debug, Clone)]
pub struct Writing {
    /// Its rows.
    pub rows: Vec<Row>,
    /// True time when its scan was stamped.
    pub at_ms: i64,
}

/// A scan on stable storage.
#[derive(Debug, Clone)]
pub struct Kept {
    /// As journalled.
    pub scanned: Scanned,
    /// Its digest.
    pub digest: Digest,
    /// True time when it was stamped; `None` where nobody may hold the clock to its word.
    pub true_ms: Option<i64>,
    /// The value of [`Phone::gone_back`] at that time.
    pub gone_back: u64,
}

/// A phone.
#[derive(Debug)]
pub struct Phone {
    /// The engine, while the app runs.
    pub engine: Option<Engine>,
    /// The phone's storage.
    pub disk: Disk,
    /// The phone's clocks.
    pub clock: PhoneClock,
    /// Counts starts: what was under way before the last one is nobody's any more.
    pub generation: u64,
    /// Appends under way.
    pub writing: BTreeMap<u64, Writing>,
    /// The last heartbeat that was sent, and true time then.
    pub beat: Option<(u64, i64)>,
    /// True time when the last heartbeat was sent that was answered.
    pub heard_ms: i64,
    /// Requests under way, and the monotonic clock when each left.
    pub requests: BTreeMap<u64, i64>,
    /// The last wake asked for.
    pub wake: u64,
    /// No network until then.
    pub offline_until: i64,
    /// Asleep until then.
    pub asleep_until: i64,
    /// The last view drawn.
    pub view: Option<View>,
    /// Scans on stable storage, in the order of the log.
    pub kept: Vec<Kept>,
    /// Places of scans whose receipt, or refusal for good, is on stable storage, with the epoch it is of; those of an epoch
    /// that is over are questions again.
    pub done: BTreeMap<u64, Option<Epoch>>,
    /// Those that were refused for good, in any epoch.
    pub refused: BTreeSet<u64>,
    /// How often one was set apart because a batch with it was refused whole.
    pub set_apart: u64,
    /// Its key was erased, and it was given no other since.
    pub key_erased: bool,
    /// Verdicts shown, by scan.
    pub shown: BTreeSet<ScanId>,
    /// This storage's name and log, once journalled.
    pub identity: Option<(DeviceId, LogId)>,
    /// The newest list this journal names.
    pub list: Option<(Epoch, u64)>,
    /// How often it was paired with a server of an older epoch than its list's.
    pub gone_back: u64,
    /// Its storage was put back to an older copy.
    pub put_back: bool,
    /// The witness of the last request.
    pub witness: Option<String>,
    /// Epoch and serial of the newest witness on stable storage.
    pub proof: Option<(Epoch, u64)>,
    /// The witness of each request under way; kept where the server may go back in silence.
    pub carried: BTreeMap<u64, Option<String>>,
    /// The witness of the last request that was answered.
    pub shown_proof: Option<String>,
    /// The wall clock was set while the engine could not see it, or in ways it cannot tell from sleep.
    pub clock_doubtful: bool,
    /// The wall clock was set, or the phone slept, since the engine last looked: a second such thing hides the first.
    pub stepped_unseen: bool,
    /// True time when the wall clock was set last, while no row that was made since is on stable storage.
    pub stepped: Option<i64>,
    /// Pairings refused because the server knows this device under a key the phone does not have.
    pub taken: u32,
    /// The code that was shown to it last.
    pub last_code: Option<String>,
    /// The list it was last given, for replays.
    pub old_list: Option<Response>,
    random: Rng,
    sessions: u64,
}

/// The fault that reading rows off the disk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WentBack(pub String);

impl Phone {
    /// A phone out of the box. Its random numbers do not depend on its organisation: ids collide (trust §3).
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

    /// Where the scanner stands, by its last view.
    pub fn phase(&self) -> Phase {
        self.view.as_ref().map_or(Phase::Unpaired, |view| view.phase)
    }
    /// Scans no receipt names, by its last view.
    pub fn unsent(&self) -> u64 {
        self.view.as_ref().map_or(0, |view| view.unsent)
    }

    /// A request was answered.
    pub fn answered(&mut self, request: u64) {
        self.shown_proof = self.carried.remove(&request).flatten();
    }
    /// Whether the server has answered every proof it holds: they are shown one a request, the newest last.
    pub fn has_shown_proof(&self) -> bool {
        let shown = self.shown_proof.as_ref().and_then(|text| text.parse().ok()).map(place);
        self.proof.is_none_or(|(epoch, serial)| shown.is_some_and(|(of, at)| of != epoch || at >= serial))
    }

    /// One input into the engine at true time `now_ms`.
    pub fn feed(&mut self, now_ms: i64, input: Input, body: &[u8]) -> Vec<Effect> {
        let now = Now {
            wall_ms: self.clock.wall_ms(now_ms),
            mono_ms: self.clock.mono_ms(now_ms),
            random: self.random.bytes(),
        };
        self.stepped_unseen = false;
        self.engine.as_mut().map(|engine| engine.handle(input, body, &now)).unwrap_or_default()
    }

    /// The app starts: storage is read, the engine begins. Gives the effects of it.
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

    /// The app is gone, and with it whatever was in memory.
    pub fn kill(&mut self) {
        // A step that was not journalled yet is gone with the session: the next one has the wall clock alone.
        self.clock_doubtful |= self.stepped.is_some();
        self.generation += 1;
        self.engine = None;
        self.requests.clear();
        self.beat = None;
        self.view = None;
        self.disk.lose_power();
    }

    /// The owner clears all site data: another phone, as far as anybody can tell.
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

    /// Puts the storage back to what it was some rows ago, as a restored phone has it. The rows since then never were,
    /// and their places in the log are given again. The phone's clock promises no longer hold.
    pub fn put_back(&mut self, rows: usize) -> Result<(), WentBack> {
        let (kept, identity, gone_back) = (std::mem::take(&mut self.kept), self.identity.clone(), self.gone_back);
        self.done.clear();
        self.refused.clear();
        self.key_erased = false;
        (self.identity, self.list, self.witness, self.proof, self.old_list) = (None, None, None, None, None);
        self.disk.put_back(rows);
        let rows = self.disk.rows().to_vec();
        self.note(&rows, 0)?;
        // As they were noted when they were made.
        let again = self.kept.len();
        self.kept = kept.into_iter().take(again).collect();
        let there: BTreeSet<&ScanId> = self.kept.iter().map(|kept| &kept.scanned.scan.scan_id).collect();
        self.shown.retain(|scan_id| there.contains(scan_id));
        (self.identity, self.gone_back) = (self.identity.take().or(identity), gone_back + 1);
        (self.put_back, self.clock_doubtful, self.stepped) = (true, true, None);
        Ok(())
    }

    /// Rows became durable: notes what they say.
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
                // Somebody paired it with a server of an older epoch, which thereby holds: its lists do, too.
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
