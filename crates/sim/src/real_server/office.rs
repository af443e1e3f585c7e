//! The office: an organiser's table sends its rows by webhook, and the server mails passes, without any phone (I21,
//! I22). Two workers carry out runs. The simulator pauses them anywhere outside the store, lets their leases end, or
//! kills them. The sender of the rows repeats its messages and has its own clock. Mail server and object store refuse,
//! accept, and lose their answers. Then all faults end, the workers finish every run, and the simulator checks the
//! result ([`check`](self::check)).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use admit_app::error::Error;
use admit_app::jobs::{Ended, Workflows, carry_out};
use admit_app::passes::{Delivery, SetUp};
use admit_app::webhooks::{self, NewWebhookEndpoint, Received};
use admit_core::limits::JOB_LEASE_MS;
use admit_core::webhook::{Signed, WebhookSecret, body_digest, seconds};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::task::noop_waker_ref;
use serde_json::{Value, json};

use super::{Place, RealServer, now};
use crate::config::{BEGINNING_MS, Config};
use crate::coverage::Coverage;
use crate::mutants::{Mutant, Planted};
use crate::record::Violation;
use crate::rng::Rng;
use crate::server::Server;
use crate::trace::{Trace, short};

mod check;
mod outside;

use outside::Outside;

/// One seed in this many has an office, because an office takes as long as two small worlds.
pub const ONE_IN: u64 = 8;
/// The number of rows in the sender's table.
const ROWS: u64 = 3;
/// The number of turns after the faults within which everything must be finished.
const PATIENCE: usize = 2_000;

/// A change of a row, which its sender keeps until it is answered.
struct Message {
    id: String,
    body: String,
    /// Whether the sender got an answer.
    heard: bool,
    /// The server's first answer, whether or not it arrived; `None` until there is one.
    answer: Option<String>,
    tries: u64,
}

/// A run that a worker has taken.
struct TakenRun {
    run_id: String,
    taken_ms: i64,
    /// How often workers had taken the run when this worker took it. Only the last taker may store how the run ended.
    taking: u64,
    /// Whether this worker sent a letter for the run.
    mailed: bool,
    work: BoxFuture<'static, admit_app::error::Result<Ended>>,
}

/// A worker that carries out runs under its own name.
struct Worker {
    holder: String,
    taken_runs: Vec<TakenRun>,
}

/// The result of a seed's office.
pub(crate) struct Came {
    pub violations: Vec<Violation>,
    pub trace: Trace,
    pub coverage: Coverage,
    pub checked: Coverage,
}

struct Office {
    server: RealServer,
    outside: Arc<Outside>,
    workflows: Arc<Workflows>,
    endpoint_id: String,
    secret: WebhookSecret,
    planted: Planted,
    rng: Rng,
    now_ms: i64,
    messages: Vec<Message>,
    /// Each row of the sender's table; `None` after its deletion.
    rows: Vec<Option<Value>>,
    workers: Vec<Worker>,
    /// How often each run was taken.
    takings: BTreeMap<String, u64>,
    /// For each run, how often a worker sent a letter and then did not store that the run was done. After each such
    /// case the next worker may send one more letter.
    cut_short: BTreeMap<String, usize>,
    trace: Trace,
    coverage: Coverage,
    found: Vec<Violation>,
}

/// Runs a seed's office: with faults, then without, then the checks.
pub(crate) fn run(seed: u64, place: &Place<'_>, planted: Planted, keep_trace: bool) -> Came {
    let mut office = Office::new(seed, place, planted, keep_trace);
    let steps = 30 + office.rng.below(60);
    (0..steps).for_each(|_| office.step());
    office.heal();
    office.come_to_rest();
    let mut checked = Coverage::default();
    office.check(&mut checked);
    if keep_trace && place.open.is_none() {
        let contents = format!("{:?}", office.server.contents());
        office.note(format_args!("the store holds {:08x}", short(contents.as_bytes())));
    }
    let mut coverage = office.coverage;
    coverage.add(&office.outside.coverage());
    Came { violations: office.found, trace: office.trace, coverage, checked }
}

impl Office {
    fn new(seed: u64, place: &Place<'_>, planted: Planted, keep_trace: bool) -> Self {
        let mut rng = Rng::of(seed, "desk", 0);
        let config = Config { orgs: 1, tickets: 1, expires_ms: None, ..Config::draw(seed) };
        // The office does not use HTTP.
        let place = Place { build: place.build, open: None };
        let server = RealServer::new(seed, &config, BEGINNING_MS, &place, planted);
        server.machine.fault.store(0, Ordering::Relaxed);
        let owner = &server.owners[0];
        let new = NewWebhookEndpoint { event_id: owner.event_id.clone(), name: "table".into(), columns: None };
        let made = now(webhooks::create(&server.app, &owner.caller, new));
        let made = made.unwrap_or_else(|error| panic!("no endpoint: {error}"));
        // A small office needs more faults than doors do.
        let fault = *rng.pick(&[0, 50, 250]);
        server.machine.fault.store(fault, Ordering::Relaxed);
        let outside = Arc::new(Outside::new(Rng::of(seed, "outside", 0), planted));
        let set_up = SetUp {
            mail: outside.clone(),
            objects: outside.clone(),
            public_url: Some("https://t.example".into()),
            objects_public_url: None,
        };
        let worker = |n| Worker { holder: format!("worker-{n}"), taken_runs: Vec::new() };
        Self {
            server,
            outside,
            workflows: Arc::new(Workflows::default().with(Delivery(set_up))),
            endpoint_id: made.endpoint.endpoint_id,
            secret: made.secret,
            planted,
            rng,
            now_ms: BEGINNING_MS,
            messages: Vec::new(),
            rows: (0..ROWS).map(|_| None).collect(),
            workers: (0..2).map(worker).collect(),
            takings: BTreeMap::new(),
            cut_short: BTreeMap::new(),
            trace: Trace::new(keep_trace),
            coverage: Coverage::default(),
            found: Vec::new(),
        }
    }

    fn broken(&mut self, invariant: &'static str, what: String) {
        // At most three violations of one kind are kept, so that they do not hide another kind.
        if self.found.iter().filter(|one| one.invariant == invariant).count() < 3 {
            self.found.push(Violation { invariant, what });
        }
    }
    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        self.trace.line(self.now_ms - BEGINNING_MS, format_args!("desk: {what}"));
    }

    fn step(&mut self) {
        // Sometimes the time advances by more than a lease.
        self.now_ms += if self.rng.per_mille(60) { JOB_LEASE_MS + 5_000 } else { self.rng.between(0, 3_000) };
        let worker = self.rng.below(2) as usize;
        match self.rng.below(100) {
            0..14 => self.row_changes(),
            14..30 => self.repeat(),
            30..34 => self.same_id_other_body(),
            34..37 => self.nobodys_message(),
            37..58 => self.take(worker),
            58..95 => self.work(worker),
            95..98 => self.die(worker),
            _ => {
                self.note(format_args!("the server is killed"));
                self.everybody_dies();
                self.server.kill();
            }
        }
    }

    /// Adds, changes or deletes a row of the sender's table, or stores it again unchanged. Mostly the sender sends the
    /// row's message at once.
    fn row_changes(&mut self) {
        let row = self.rng.below(ROWS);
        let n = self.messages.len() as u64;
        let known = self.rows[row as usize].take();
        let old = known.clone().unwrap_or(Value::Null);
        let values = json!({
            "id": format!("row-{row}"),
            "name": format!("Guest {n}"),
            "email": format!("{row}-{}@example.org", n / 4),
            "party_size": 1 + self.rng.below(3),
        });
        let (change, record) = match (known, self.rng.below(10)) {
            (Some(_), 0) => ("DELETE", None),
            (Some(known), 1) => ("UPDATE", Some(known)),
            (Some(_), _) => ("UPDATE", Some(values)),
            (None, _) => ("INSERT", Some(values)),
        };
        let body = json!({ "type": change, "record": record, "old_record": old, "sequence": n + 1 }).to_string();
        self.rows[row as usize] = record;
        self.messages.push(Message { id: format!("msg-{n}"), body, heard: false, answer: None, tries: 0 });
        if self.rng.per_mille(800) {
            self.send(n as usize);
        }
    }

    /// Sends a message again: its sender got no answer, or got one and repeats the message anyway.
    fn repeat(&mut self) {
        let n = self.rng.below(self.messages.len() as u64) as usize;
        if n < self.messages.len() {
            self.send(n);
        }
    }

    fn send(&mut self, n: usize) {
        let Message { id, body, tries, .. } = &mut self.messages[n];
        *tries += 1;
        let id = if self.planted.is(Mutant::WebhookIdLost) { format!("{id}-{tries}") } else { id.clone() };
        let body = body.clone();
        let signature = self.secret.sign(&id, admit_core::time::Timestamp::clamped(self.now_ms), body.as_bytes());
        let said = self.post(&id, &body, &signature);
        self.note(format_args!("{id} {said:?}"));
        let Ok(Received { answer, repeated }) = said else {
            if !matches!(said, Err(Error::Later { .. })) {
                self.broken("I21", format!("{id}, a good message, was answered {said:?}"));
            }
            return;
        };
        self.coverage.hit_if(repeated, "webhook repeated");
        // The answer may be lost on the way.
        let heard = !self.outside.is_faulty() || !self.rng.per_mille(250);
        let message = &mut self.messages[n];
        message.heard |= heard;
        match &message.answer {
            Some(first) if *first != answer => {
                let what = format!("{} was answered {first}, and again {answer}", message.id);
                self.broken("I21", what);
            }
            Some(_) => {}
            None => message.answer = Some(answer),
        }
    }

    /// Sends another body under a webhook id that an answered message has used. The server must refuse it and change
    /// nothing.
    fn same_id_other_body(&mut self) {
        let Some(message) = self.messages.iter().rev().find(|message| message.answer.is_some()) else { return };
        let (id, body) = (message.id.clone(), message.body.replace("Guest", "Ghost") + " ");
        let signature = self.secret.sign(&id, admit_core::time::Timestamp::clamped(self.now_ms), body.as_bytes());
        let said = self.post(&id, &body, &signature);
        self.note(format_args!("{id} with another body {said:?}"));
        match said {
            Err(Error::Conflict { .. }) => self.coverage.hit("webhook id with another body"),
            Err(Error::Later { .. }) => {}
            // With this planted bug the server does not know the id.
            _ if self.planted.is(Mutant::WebhookIdLost) => {}
            _ => self.broken("I21", format!("{id} with another body was answered {said:?}")),
        }
    }

    /// Sends a message that nobody with the secret signed.
    fn nobodys_message(&mut self) {
        let Ok(other) = WebhookSecret::from_bytes([7; 32]) else { return };
        let body = json!({ "record": { "id": "row-0", "name": "Ghost", "email": "ghost@example.org" } }).to_string();
        let signature = other.sign("msg-ghost", admit_core::time::Timestamp::clamped(self.now_ms), body.as_bytes());
        let said = self.post("msg-ghost", &body, &signature);
        self.note(format_args!("nobody's message {said:?}"));
        if !matches!(said, Err(Error::Unauthenticated { .. } | Error::Later { .. })) {
            self.broken("I21", format!("nobody's message was answered {said:?}"));
        }
    }

    fn post(&mut self, id: &str, body: &str, signature: &str) -> admit_app::error::Result<Received> {
        self.server.serve(self.now_ms, 0);
        let at = seconds(admit_core::time::Timestamp::clamped(self.now_ms));
        let app = &self.server.app;
        let bug = |error: String| Error::Bug(error);
        let said = (|| {
            let signed = Signed::read(id, &at, signature).map_err(|error| bug(error.to_string()))?;
            let caller = now(webhooks::authenticate(app, &self.endpoint_id, &signed, body.as_bytes()))?;
            let message = serde_json::from_str(body).map_err(|error| bug(error.to_string()))?;
            now(webhooks::receive(app, &caller, body_digest(body.as_bytes()), message))
        })();
        self.look_for_death(None);
        said
    }

    /// Takes due runs for a worker. Another worker may still carry out one of these runs, if its lease ended before its
    /// work did.
    fn take(&mut self, worker: usize) {
        self.server.serve(self.now_ms, 0);
        let limit = 1 + self.rng.below(3) as usize;
        let holder = self.workers[worker].holder.clone();
        let taken = now(self.server.app.store.take_runs(holder, JOB_LEASE_MS, limit)).unwrap_or_default();
        self.note(format_args!("worker {worker} takes {}", taken.len()));
        for taken in taken {
            let run_id = taken.run_id.clone();
            let before =
                self.workers.iter().flat_map(|worker| &worker.taken_runs).filter(|taken| taken.run_id == run_id);
            if let Some(newest_ms) = before.map(|taken| taken.taken_ms).max() {
                self.coverage.hit("run taken by another");
                if self.now_ms < newest_ms + JOB_LEASE_MS {
                    self.broken("I22", format!("run {run_id} was given away before its lease ended"));
                }
            }
            let taking = self.takings.entry(run_id.clone()).or_default();
            *taking += 1;
            let (app, workflows) = (self.server.app.clone(), self.workflows.clone());
            let work = async move { carry_out(&app, &workflows, taken).await }.boxed();
            let taken = TakenRun { run_id, taken_ms: self.now_ms, taking: *taking, mailed: false, work };
            self.workers[worker].taken_runs.push(taken);
        }
        self.look_for_death(Some(worker));
    }

    /// Continues one of the taken runs, until the run ends or waits for a service outside of the store.
    fn work(&mut self, worker: usize) {
        let taken_runs = self.workers[worker].taken_runs.len() as u64;
        if taken_runs == 0 {
            return;
        }
        let n = self.rng.below(taken_runs) as usize;
        self.server.serve(self.now_ms, 0);
        let taken = &mut self.workers[worker].taken_runs[n];
        let run_id = taken.run_id.clone();
        let letters = self.outside.letters(&run_id);
        let polled = taken.work.as_mut().poll(&mut Context::from_waker(noop_waker_ref()));
        taken.mailed |= self.outside.letters(&run_id) > letters;
        match polled {
            Poll::Pending => self.note(format_args!("worker {worker} is paused in {run_id}")),
            Poll::Ready(ended) => {
                self.note(format_args!("worker {worker} ends {run_id} {ended:?}"));
                let taken = self.workers[worker].taken_runs.swap_remove(n);
                let is_newest = self.takings.get(&run_id) == Some(&taken.taking);
                if !is_newest && matches!(ended, Ok(Ended::Done | Ended::Waits(_) | Ended::Parked | Ended::GaveUp)) {
                    self.broken("I22", format!("run {run_id} was ended by one whom another had overtaken"));
                }
                if !matches!(ended, Ok(Ended::Done)) {
                    self.let_go(taken);
                }
            }
        }
        self.look_for_death(Some(worker));
    }

    /// Handles an injected fault at a statement or commit: a worker's process dies, or the server does.
    fn look_for_death(&mut self, worker: Option<usize>) {
        if self.server.machine.died.load(Ordering::Relaxed) > 0 {
            match worker {
                Some(worker) if self.rng.per_mille(500) => self.die(worker),
                _ => self.everybody_dies(),
            }
            self.server.revive();
        }
    }
    fn everybody_dies(&mut self) {
        (0..self.workers.len()).for_each(|worker| self.die(worker));
    }
    /// A worker's process dies and starts again. In half of the cases the new process then frees its old runs, so that
    /// they are due at once.
    fn die(&mut self, worker: usize) {
        let taken_runs = std::mem::take(&mut self.workers[worker].taken_runs);
        self.note(format_args!("worker {worker} dies with {}", taken_runs.len()));
        self.coverage.hit_if(!taken_runs.is_empty(), "worker died with a run");
        taken_runs.into_iter().for_each(|taken| self.let_go(taken));
        if self.rng.per_mille(500) {
            self.server.serve(self.now_ms, 0);
            let faults = self.server.machine.fault.swap(0, Ordering::Relaxed);
            let freed = now(self.server.app.store.free_runs(self.workers[worker].holder.clone()));
            self.server.machine.fault.store(faults, Ordering::Relaxed);
            self.note(format_args!("{freed:?} are free"));
        }
    }

    /// A worker gives up a taken run without having stored that the run is done. If it had mailed, the next worker must
    /// mail again.
    fn let_go(&mut self, taken: TakenRun) {
        if taken.mailed {
            *self.cut_short.entry(taken.run_id).or_default() += 1;
        }
    }

    fn heal(&mut self) {
        self.server.heal();
        self.outside.heal();
        self.note(format_args!("all is well"));
    }

    /// Sends every message until it is answered, and finishes every run.
    fn come_to_rest(&mut self) {
        for _ in 0..PATIENCE {
            self.now_ms += 100;
            let unheard = self.messages.iter().position(|message| !message.heard);
            let at_work = self.workers.iter().position(|worker| !worker.taken_runs.is_empty());
            match (unheard, at_work) {
                (Some(n), _) => self.send(n),
                (None, Some(worker)) => self.work(worker),
                (None, None) => {
                    self.server.serve(self.now_ms, 0);
                    match now(self.server.app.store.next_run_in()) {
                        Ok(None) => return,
                        Ok(Some(wait_ms)) => {
                            self.now_ms += wait_ms;
                            self.take(0);
                        }
                        Err(error) => self.broken("I22", format!("the store cannot be read: {error}")),
                    }
                }
            }
        }
        self.broken("I22", "runs or messages come to no end".into());
    }
}
