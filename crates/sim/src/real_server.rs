//! The server of level 1: the real use cases on a real store (trust §3), which is SQLite in memory or another store.
//! The store runs on the calling thread, so every future is ready at once and a seed has exactly one schedule. Faults
//! are injected at statements and commits. Level 2 adds the HTTP server before the use cases ([`http_factory`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use admit_app::caller::UserCaller;
use admit_app::error::Result;
use admit_app::ports::{App, Clock, Hint, Hints, Ids, Store};
use admit_app::secret::Secret;
use admit_core::ids::{EventId, TicketId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use admit_store_queries::contents::Contents;
use admit_store_queries::hooks::{CommitFault, StatementFault};
use futures_util::FutureExt;

use crate::config::Config;
use crate::coverage::Coverage;
use crate::mutants::{Mutant, Planted};
use crate::regressions;
use crate::rng::Rng;
use crate::server::{Act, Deaths, Reply, Request, Reviewable, Server, Truth};

mod acts;
pub mod http_factory;
pub mod store_factory;
mod http_client;
mod routes;
mod truth;
pub(crate) mod office;

use http_factory::{HttpServer, Open, Seen};
use store_factory::{Build, Hooks, StoreBehind};

/// The first statement that a server executes when it begins an epoch.
const FIRST_OF_AN_EPOCH: &str = "LOCK_EPOCHS";

/// The state that all processes of this server share. It survives kills and restores.
struct Machine {
    now_ms: AtomicI64,
    /// The organisation whose request is being handled. Each organisation has its own stream of randomness. Otherwise
    /// the ids of one organisation would depend on the presence of another (trust I13).
    org: AtomicUsize,
    ids: Mutex<Vec<Rng>>,
    faults: Mutex<Vec<Rng>>,
    /// The chance of a fault at a statement or commit, per hundred thousand.
    fault: AtomicU32,
    died: AtomicU32,
    /// Whether this seed's world has several organisations.
    several: bool,
    /// Whether the server is doing something for every organisation. The number of its statements depends on the
    /// number of organisations, so no fault is injected meanwhile (trust I13). With one organisation faults go on.
    for_all: AtomicBool,
    /// Whether the present request has started to begin an epoch.
    begins: AtomicBool,
}

impl Machine {
    fn strikes(&self, weight: u32) -> bool {
        let chance = self.fault.load(Ordering::Relaxed).saturating_mul(weight);
        if self.several && self.for_all.load(Ordering::Relaxed) {
            return false;
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        chance > 0 && faults[self.org.load(Ordering::Relaxed)].below(100_000) < u64::from(chance)
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::clamped(self.now_ms.load(Ordering::Relaxed))
    }
    fn monotonic_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }
}
impl Ids for Machine {
    fn random(&self) -> [u8; 32] {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids[self.org.load(Ordering::Relaxed)].bytes()
    }
}
impl Hints for Machine {
    fn hint(&self, _: Hint) {}
}

/// One organisation as its owner knows it.
struct Owner {
    caller: UserCaller,
    event_id: EventId,
    /// The server's ids of the tickets, by the ids that the world uses.
    tickets: BTreeMap<TicketId, TicketId>,
}

/// The store of a server, and the HTTP part before its use cases.
#[derive(Clone)]
pub struct Place<'a> {
    /// Makes the store: one for each run of a seed.
    pub build: Build<'a>,
    /// Makes the HTTP part of level 2; `None` at level 1.
    pub open: Option<Open>,
}

/// The server of levels 1 and 2.
pub struct RealServer {
    app: App,
    open: Option<Open>,
    http: Option<Box<dyn HttpServer>>,
    seen: Seen,
    machine: Arc<Machine>,
    owners: Vec<Owner>,
    /// The organisation of each key or token. By it the simulator chooses the stream of randomness for a request,
    /// before the server itself finds out the organisation.
    texts: BTreeMap<String, usize>,
    /// The tickets that the world knew at the last backup; `None` without a backup.
    backup: Option<Vec<BTreeMap<TicketId, TicketId>>>,
    begun: Vec<Epoch>,
    /// The epoch that was read last; `None` after a restore.
    epoch: Option<Epoch>,
    coverage: Coverage,
    deaths: Deaths,
    seed: u64,
    /// The number of requests so far, for each organisation and for the server itself.
    served: Vec<u64>,
    /// The store. It is the last field. Dropping it keeps the store open for another seed, so nothing of this seed may
    /// use it then.
    behind: Box<dyn StoreBehind>,
}

/// Runs a future that is ready at once.
fn now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let bug = || admit_app::error::Error::Bug("a future of the inline store was not ready".into());
    future.now_or_never().unwrap_or_else(|| Err(bug()))
}

fn process(store: Arc<dyn Store>, machine: &Arc<Machine>) -> App {
    let secret =
        Secret::new("a secret of the simulator, thirty-two characters").unwrap_or_else(|_| unreachable!("long"));
    let (clock, ids, hints) = (machine.clone(), machine.clone(), machine.clone());
    App::new(store, clock, ids, hints, secret)
}

impl RealServer {
    /// Makes a server with its organisations. Their events, gates and tickets have the same ids.
    ///
    /// # Panics
    ///
    /// If the store cannot be opened or the organisations cannot be made.
    pub fn new(seed: u64, config: &Config, now_ms: i64, place: &Place<'_>, planted: Planted) -> Self {
        // The last stream is the server's own, for epochs. It is the same for any number of organisations.
        let streams = |purpose| {
            let own = Rng::of(seed, purpose, u64::MAX);
            Mutex::new((0..config.orgs).map(|org| Rng::of(seed, purpose, org)).chain([own]).collect())
        };
        let machine = Arc::new(Machine {
            now_ms: AtomicI64::new(now_ms),
            org: AtomicUsize::new(0),
            ids: streams("server ids"),
            faults: streams("server faults"),
            fault: AtomicU32::new(0),
            died: AtomicU32::new(0),
            several: Config::draw(seed).orgs > 1 && !regressions::before_sparing(seed),
            for_all: AtomicBool::new(false),
            begins: AtomicBool::new(false),
        });
        let (for_clock, for_commit, for_statement) = (machine.clone(), machine.clone(), machine.clone());
        let hooks = Hooks {
            clock: Arc::new(move || for_clock.now_ms.load(Ordering::Relaxed)),
            before_commit: Arc::new(move || {
                if for_commit.strikes(40) {
                    for_commit.died.store(1, Ordering::Relaxed);
                    CommitFault::LostAck
                } else if for_commit.strikes(40) {
                    CommitFault::Lose
                } else {
                    CommitFault::Proceed
                }
            }),
            before_statement: Arc::new(move |name| {
                let strikes = for_statement.strikes(2);
                if name == FIRST_OF_AN_EPOCH {
                    for_statement.for_all.store(true, Ordering::Relaxed);
                    for_statement.begins.store(true, Ordering::Relaxed);
                }
                if strikes {
                    for_statement.died.store(1, Ordering::Relaxed);
                    if planted.is(Mutant::TornCommit) { StatementFault::Torn } else { StatementFault::Crash }
                } else {
                    StatementFault::Proceed
                }
            }),
        };
        assert_eq!(store_factory::FIRST_EPOCH.restored_at_ms, now_ms - 1_000, "it began before the world");
        let behind = (place.build)(hooks).unwrap_or_else(|error| panic!("the store does not open: {error}"));
        let app = process(behind.store(), &machine);
        let mut server = Self {
            behind,
            app,
            open: place.open.clone(),
            http: None,
            seen: Seen::default(),
            machine,
            owners: Vec::new(),
            texts: BTreeMap::new(),
            backup: None,
            begun: Vec::new(),
            epoch: None,
            coverage: Coverage::default(),
            deaths: Deaths::default(),
            seed,
            served: vec![0; config.orgs as usize + 1],
        };
        for org in 0..config.orgs {
            let owner = server.found(seed, org, config).unwrap_or_else(|error| panic!("no scene: {error}"));
            server.owners.push(owner);
        }
        server.open();
        let fault = match config.server_crash {
            0 => 0,
            chance if regressions::before_kills(seed) => 1 + chance / 40,
            chance => 1 + chance / 8,
        };
        server.machine.fault.store(fault, Ordering::Relaxed);
        server
    }

    /// Starts a process on the store's present content.
    fn begin_process(&mut self) {
        self.app = process(self.behind.store(), &self.machine);
        self.open();
    }
    fn open(&mut self) {
        self.http = self.open.as_ref().map(|open| open(self.app.clone()));
    }

    fn serve(&mut self, now_ms: i64, org: usize) {
        self.machine.now_ms.store(now_ms, Ordering::Relaxed);
        self.machine.org.store(org, Ordering::Relaxed);
        self.machine.for_all.store(false, Ordering::Relaxed);
        self.machine.begins.store(false, Ordering::Relaxed);
        // Faults are drawn separately for each request. The number of statements of a request depends on the process's
        // memory, and that depends on the other organisation's faults (trust I13).
        self.served[org] += 1;
        if regressions::before_later_faults(self.seed) {
            return; // An older regression seed keeps the faults that it had.
        }
        // Requests of nobody, or of the server itself, are the same with one organisation or two.
        let nobody = org + 1 == self.served.len();
        let of = if nobody { u64::MAX - now_ms.unsigned_abs() } else { (org as u64) << 40 | self.served[org] };
        let faults = Rng::of(self.seed, "server faults", of);
        self.machine.faults.lock().unwrap_or_else(PoisonError::into_inner)[org] = faults;
    }

    /// Records the epoch if it has changed. The store is asked only if the request tried to begin an epoch, or if the
    /// present epoch is not known.
    fn note_epoch(&mut self, before: Epoch) {
        if self.epoch == Some(before) && !self.machine.begins.load(Ordering::Relaxed) {
            return;
        }
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        let epoch = now(self.app.store.epoch());
        self.machine.fault.store(faults, Ordering::Relaxed);
        if let Ok(epoch) = epoch {
            self.epoch = Some(epoch);
            if epoch != before {
                self.begun.push(epoch);
            }
        }
    }

    /// After an injected death, starts the process again on what was committed.
    fn revive(&mut self) {
        if self.machine.died.swap(0, Ordering::Relaxed) > 0 {
            self.coverage.hit("died inside a transaction");
            self.kill();
            let faults = self.machine.fault.swap(0, Ordering::Relaxed);
            for org in 0..self.owners.len() {
                if let Err(error) = self.look_for_torn(org) {
                    panic!("the store cannot be read: {error}");
                }
            }
            self.machine.fault.store(faults, Ordering::Relaxed);
        }
    }
}

impl Server for RealServer {
    fn handle(&mut self, now_ms: i64, request: &Request) -> Reply {
        let org = self.whose(request);
        self.serve(now_ms, org);
        let reply = self.over_http(request).unwrap_or_else(|| self.route(request));
        self.revive();
        reply
    }

    fn act(&mut self, now_ms: i64, org: u64, act: &Act) -> Option<String> {
        self.serve(now_ms, org as usize);
        let done = self.do_act(org as usize, act);
        self.revive();
        match act {
            // The commit may have succeeded although its answer was lost, so the store's content decides.
            Act::Revoke(device_id) => self.is_revoked(org as usize, device_id).then(|| device_id.to_string()),
            Act::Approve { code, .. } => self.is_approved(org as usize, code).then(|| code.clone()),
            _ => done.unwrap_or_default(),
        }
    }

    fn kill(&mut self) {
        if let Err(error) = self.behind.crash() {
            panic!("the store does not start again: {error}");
        }
        self.begin_process();
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        if let Err(error) = now(admit_app::epochs::judge_anew(&self.app)) {
            panic!("the server does not start again: {error}");
        }
        self.machine.fault.store(faults, Ordering::Relaxed);
        self.coverage.hit("server killed");
    }

    fn heal(&mut self) {
        self.machine.fault.store(0, Ordering::Relaxed);
    }

    fn backup(&mut self) {
        let tickets = self.owners.iter().map(|owner| owner.tickets.clone()).collect();
        if let Err(error) = self.behind.backup() {
            panic!("no backup can be taken: {error}");
        }
        self.backup = Some(tickets);
    }

    fn restore(&mut self, now_ms: i64, proper: bool) {
        let Some(tickets) = self.backup.clone() else { return };
        self.serve(now_ms, self.owners.len());
        self.epoch = None;
        if let Err(error) = self.behind.restore() {
            panic!("the backup does not open: {error}");
        }
        for (owner, tickets) in self.owners.iter_mut().zip(tickets) {
            owner.tickets = tickets;
        }
        self.begin_process();
        self.coverage.hit("restore");
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        if proper && let Ok(seen) = now(self.app.store.epoch()) {
            self.coverage.hit_if(now(admit_app::epochs::begin(&self.app, seen)).is_ok(), "epoch changed");
            self.note_epoch(seen);
        }
        self.machine.fault.store(faults, Ordering::Relaxed);
    }

    fn begun(&self) -> &[Epoch] {
        &self.begun
    }

    fn begin(&mut self, epoch: Epoch) {
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        if let Ok(seen) = now(self.app.store.epoch()) {
            if let Err(error) = now(self.app.store.begin_epoch(seen, epoch)) {
                panic!("the epoch does not begin: {error}");
            }
            if let Err(error) = now(admit_app::epochs::judge_anew(&self.app)) {
                panic!("what the epoch lost is not judged: {error}");
            }
            self.app.manifests.clear();
            self.note_epoch(seen);
        }
        self.machine.fault.store(faults, Ordering::Relaxed);
    }

    fn reviewable(&self, org: u64) -> Reviewable {
        self.read_reviewable(org as usize).unwrap_or_else(|error| panic!("the store cannot be read: {error}"))
    }

    fn truth(&self, org: u64) -> Truth {
        self.read_truth(org as usize).unwrap_or_else(|error| panic!("the store cannot be read: {error}"))
    }

    fn contents(&self) -> Contents {
        self.behind.contents().unwrap_or_else(|error| panic!("the store cannot be read: {error}"))
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    fn deaths(&self) -> Deaths {
        self.deaths.clone()
    }
}
