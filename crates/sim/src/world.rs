//! The world of one seed: scheduled events in virtual time, phones, people, network, server.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use admit_core::event::EventStatus;
use admit_core::ids::DeviceId;
use admit_core::limits;
use admit_core::rule::Epoch;
use admit_core::wire::engine::{Effect, Input, Phase};

use crate::clock::PhoneClock;
use crate::config::{BEGINNING_MS, Config, LONG_REST_MS};
use crate::coverage::Coverage;
use crate::mutants::{Mutant, Planted};
use crate::phone::{Phone, Writing};
use crate::record::Record;
use crate::rng::Rng;
use crate::server::{Act, Reply, Request, Server};
use crate::trace::{Trace, short};

/// The sender of a request: the index of the simulated phone, how often its app was started, and the request's number.
/// `author` is the id under which the phone is paired.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub phone: usize,
    pub generation: u64,
    pub request: u64,
    pub author: Option<DeviceId>,
}

/// The quiet time after the faults, in milliseconds. It is long enough for every retry, pause and new pairing.
const QUIET_MS: i64 = 20 * 60_000;

/// A scheduled event.
#[derive(Debug, Clone)]
pub(crate) enum Ev {
    /// An input to an engine, if the app has not restarted since.
    Input { phone: usize, generation: u64, input: Box<Input>, body: Vec<u8> },
    /// The monotonic clock reaches a requested wake-up.
    Wake { phone: usize, generation: u64, wake: u64, at_mono_ms: i64 },
    /// An append reaches the disk.
    DiskDone { phone: usize, generation: u64, append: u64, fails: bool },
    /// A request reaches the server. A long poll may be held until `held_until`; `looked` is the number of the server's
    /// state when it last looked for changes.
    Arrives { asker: Asker, wire: Box<Request>, held_until: i64, echo: bool, looked: Option<u64> },
    /// An app starts.
    Start { phone: usize },
    /// A person comes to a door.
    Visit,
    /// 20 seconds have passed: the faults of phones and the acts of organisers are drawn.
    Minute,
    /// An S1 client has something to send.
    Legacy { client: usize },
}

impl Ev {
    /// Whether this event may still change the server's content: a request that has not arrived, an act of staff, a
    /// finished append, or the start of an app.
    fn is_under_way(&self) -> bool {
        match self {
            Self::Arrives { looked, .. } => looked.is_none(),
            Self::Input { input, .. } => !matches!(**input, Input::Response { .. } | Input::Failed { .. }),
            Self::DiskDone { .. } | Self::Start { .. } => true,
            Self::Wake { .. } | Self::Visit | Self::Minute | Self::Legacy { .. } => false,
        }
    }
}

/// The time of an event: true time, then organisation, then order within it. So one organisation's events keep their
/// order with or without another (trust I13).
type When = (i64, u64, u64);

/// A side: one organisation's part of the world.
pub(crate) struct Side {
    pub org: u64,
    pub rng: Rng,
    /// Randomness for later additions, so that older worlds without them stay the same.
    pub extra: Rng,
    pub phones: Vec<Phone>,
    pub legacy: Vec<crate::client::Client>,
    pub record: Record,
    pub trace: Trace,
    pub imported: u64,
    /// The event's status, as the organiser set it.
    pub status: EventStatus,
    /// The code that was shown last at any door; `None` before the first.
    pub last_code: Option<String>,
    /// Counts everything that may change the server's answers to this organisation.
    pub stirred: u64,
    /// Whether this side is at rest. The simulator then ends its run.
    rests: bool,
    events: u64,
}

/// The world of one seed.
pub struct World<S> {
    pub(crate) server: S,
    pub(crate) config: Config,
    pub(crate) planted: Planted,
    pub(crate) sides: Vec<Side>,
    pub(crate) now_ms: i64,
    pub(crate) coverage: Coverage,
    /// How often each invariant was checked.
    pub(crate) checked: Coverage,
    heap: BinaryHeap<Reverse<(When, usize)>>,
    pending: BTreeMap<usize, (usize, Ev)>,
    next_pending: usize,
    own: Rng,
    /// The epochs that a device's witness began.
    pub(crate) found_out: Vec<FoundOut>,
    foretold: Vec<FoundOut>,
}

/// A roll-back that a device's witness proved: the true time, the organisation of the device, and the epoch that began.
pub(crate) type FoundOut = (i64, u64, Epoch);

impl<S: Server> World<S> {
    /// Makes the world of a seed around its server.
    pub fn new(seed: u64, config: &Config, server: S, planted: Planted, keep_trace: bool) -> Self {
        let side = |org| {
            let rng = Rng::of(seed, "side", org);
            let clock = |index| {
                PhoneClock::new(
                    &mut Rng::of(seed, "clock", index),
                    BEGINNING_MS,
                    config.clock_offset_ms,
                    config.drift_ppm,
                )
            };
            Side {
                org,
                rng,
                extra: Rng::of(seed, "side, extra", org),
                phones: (0..config.devices).map(|index| Phone::new(seed, index, clock(index))).collect(),
                legacy: (0..config.legacy).map(|index| crate::client::Client::new(seed, index)).collect(),
                record: Record::default(),
                trace: Trace::new(keep_trace),
                imported: 0,
                status: if config.opens_ms.is_some() { EventStatus::Draft } else { EventStatus::Live },
                last_code: None,
                stirred: 0,
                rests: false,
                events: 0,
            }
        };
        Self {
            server,
            config: config.clone(),
            planted,
            sides: (0..config.orgs).map(side).collect(),
            now_ms: BEGINNING_MS,
            coverage: Coverage::default(),
            checked: Coverage::default(),
            heap: BinaryHeap::new(),
            pending: BTreeMap::new(),
            next_pending: 0,
            own: Rng::of(seed, "world", 0),
            found_out: Vec::new(),
            foretold: Vec::new(),
        }
    }

    /// Schedules epochs for a run of one organisation alone. They began in the run with two organisations, when devices
    /// of the other one proved a roll-back. The other organisation is absent here, but its epochs still begin, since an
    /// epoch belongs to the server (spec §3).
    pub(crate) fn foretell(&mut self, found_out: &[FoundOut]) {
        self.foretold = found_out.iter().filter(|(_, org, _)| *org >= self.config.orgs).copied().collect();
    }

    /// Sends a request to the server.
    pub(crate) fn ask(&mut self, side: usize, wire: &Request) -> Reply {
        let begun = self.server.begun().len();
        let reply = self.server.handle(self.now_ms, wire);
        if let Some(epoch) = self.server.begun().get(begun) {
            self.found_out.push((self.now_ms, self.sides[side].org, *epoch));
            self.sides.iter_mut().for_each(|side| side.stirred += 1);
        }
        if matches!(reply, Reply::Answer(_)) {
            self.sides[side].stirred += 1;
        }
        reply
    }

    /// Carries out an organiser's act.
    pub(crate) fn act(&mut self, side: usize, act: &Act) -> Option<String> {
        self.sides[side].stirred += 1;
        self.sides[side].trace.line(self.now_ms - BEGINNING_MS, format_args!("organiser: {act:?}"));
        self.server.act(self.now_ms, self.sides[side].org, act)
    }

    /// Whether faults still happen.
    pub(crate) fn chaos(&self) -> bool {
        self.now_ms < BEGINNING_MS + self.config.chaos_ms
    }

    /// Rounds a time up to a multiple of the world's quantum.
    pub(crate) fn quantised(&self, at_ms: i64) -> i64 {
        let quantum = self.config.quantum_ms;
        at_ms + (-at_ms).rem_euclid(quantum)
    }

    /// Schedules an event.
    pub(crate) fn at(&mut self, side: usize, at_ms: i64, event: Ev) {
        let at_ms = self.quantised(at_ms.max(self.now_ms));
        self.next_pending += 1;
        self.pending.insert(self.next_pending, (side, event));
        let side = &mut self.sides[side];
        side.events += 1;
        self.heap.push(Reverse(((at_ms, side.org, side.events), self.next_pending)));
    }

    /// Runs the world: faults, healing, quiet.
    pub fn run(&mut self) {
        let end_of_chaos = BEGINNING_MS + self.config.chaos_ms;
        // A scan that was set apart is sent again after an hour.
        let set_apart_ms = if self.config.refuse_whole > 0 { limits::POISON_EVERY_MS } else { 0 };
        let end = end_of_chaos + QUIET_MS + set_apart_ms;
        for side in 0..self.sides.len() {
            self.set_the_scene(side);
        }
        let mut faults = self.server_faults();
        let mut healed = false;
        while let Some(Reverse((when, place))) = self.heap.pop() {
            let (at_ms, org, _) = when;
            if at_ms > end {
                break;
            }
            // Each organisation comes to rest by itself, whatever the other still does.
            if healed && self.quiet(org as usize, at_ms) {
                self.pending.remove(&place);
                continue;
            }
            // Faults of the server happen at their own times, whichever event comes next.
            while let Some((fault_ms, fault)) = faults.pop_if(|(fault_ms, _)| *fault_ms <= at_ms) {
                self.now_ms = fault_ms;
                self.server_fault(fault);
            }
            self.now_ms = at_ms;
            if !healed && at_ms >= end_of_chaos {
                healed = true;
                self.now_ms = end_of_chaos;
                self.server.heal();
                (0..self.sides.len()).for_each(|side| self.heal(side));
                // Healing may have scheduled something before the next event of any organisation (trust I13).
                self.heap.push(Reverse((when, place)));
                continue;
            }
            if let Some((side, event)) = self.pending.remove(&place) {
                self.happen(side, event);
            }
        }
    }

    /// Whether this organisation's side is at rest: the faults are over for a set time, and its phones have nothing
    /// left to send.
    fn quiet(&mut self, side: usize, at_ms: i64) -> bool {
        let since_ms = at_ms - BEGINNING_MS - self.config.chaos_ms;
        let number = side;
        let side = &mut self.sides[side];
        if side.rests || since_ms <= self.config.rest_ms {
            return side.rests;
        }
        let settled = |phone: &Phone| {
            let gone = phone.identity.as_ref().is_some_and(|(id, _)| side.record.revoked.contains(id));
            let paired = !matches!(phone.phase(), Phase::Unpaired | Phase::Pairing | Phase::KeyUnknown);
            // If files were copied back without `admit restore`, only a phone whose witness the server lacks can prove
            // it.
            let proven = !self.config.improper || phone.phase() != Phase::Ready || phone.has_shown_proof();
            phone.unsent() == 0 && phone.writing.is_empty() && phone.view.is_some() && (gone || paired) && proven
        };
        let under_way = |(of, event): &(usize, Ev)| *of == number && event.is_under_way();
        // After the faults, a scanning phone must have learned the server's epoch and whether its key is still known.
        let heard = |phone: &Phone| match phone.phase() {
            Phase::Ready => phone.heard_ms > BEGINNING_MS + self.config.chaos_ms,
            Phase::FirstSync | Phase::Blocked => false,
            Phase::Unpaired | Phase::Pairing | Phase::KeyUnknown | Phase::Revoked => true,
        };
        side.rests = side.phones.iter().all(settled)
            && (self.config.rest_ms >= LONG_REST_MS
                || side.phones.iter().all(heard) && !self.pending.values().any(under_way));
        side.rests
    }

    fn happen(&mut self, side: usize, event: Ev) {
        match event {
            Ev::Input { phone, generation, input, body } => self.input(side, phone, generation, *input, body),
            Ev::Wake { phone, generation, wake, at_mono_ms } => self.wake(side, phone, generation, wake, at_mono_ms),
            Ev::DiskDone { phone, generation, append, fails } => self.written(side, phone, generation, append, fails),
            Ev::Arrives { asker, wire, held_until, echo, looked } => {
                self.arrives(side, asker, wire, held_until, echo, looked);
            }
            Ev::Start { phone } => self.start(side, phone),
            Ev::Visit => self.visit(side),
            Ev::Minute => self.minute(side),
            Ev::Legacy { client } => self.legacy(side, client),
        }
    }

    // ---------------------------------------------------------------------------------------------------- phones

    /// Starts the app of a phone.
    pub(crate) fn start(&mut self, side: usize, phone: usize) {
        if self.sides[side].phones[phone].engine.is_some() {
            return;
        }
        let lose = self.planted.is(Mutant::LastRowLost);
        let now_ms = self.now_ms;
        let effects = self.sides[side].phones[phone].start(now_ms, lose);
        self.sides[side].trace.line(now_ms - BEGINNING_MS, format_args!("{phone} starts"));
        self.carry_out(side, phone, effects, &[]);
    }

    /// Gives an input to a phone's engine. If the phone sleeps, the engine gets the input when the phone wakes.
    /// `generation` is the number of starts of the app when the input was made. If the app has started anew since, the
    /// input is dropped.
    pub(crate) fn input(&mut self, side: usize, phone: usize, generation: u64, input: Input, body: Vec<u8>) {
        let now_ms = self.now_ms;
        let Side { phones, trace, .. } = &mut self.sides[side];
        let held = &mut phones[phone];
        if held.generation != generation || held.engine.is_none() {
            return;
        }
        if held.asleep_until > now_ms {
            let until = held.asleep_until;
            return self.at(side, until, Ev::Input { phone, generation, input: Box::new(input), body });
        }
        match &input {
            Input::Response { request, .. } | Input::Failed { request } if held.requests.remove(request).is_none() => {
                return; // Answered or given up already: a fetch ends once.
            }
            Input::Response { request, status, .. } => {
                if let Some((_, sent_ms)) = held.beat.filter(|(beat, _)| beat == request) {
                    held.heard_ms = sent_ms;
                }
                held.answered(*request);
                trace.line(now_ms - BEGINNING_MS, format_args!("{phone} < {request} {status} {:08x}", short(&body)));
            }
            Input::Tick | Input::Appended { .. } => {}
            other => trace.line(now_ms - BEGINNING_MS, format_args!("{phone} {other:?}")),
        }
        let effects = held.feed(now_ms, input, &body);
        self.carry_out(side, phone, effects, &body);
    }

    /// Carries out the engine's effects in their order.
    fn carry_out(&mut self, side: usize, phone: usize, effects: Vec<Effect>, body: &[u8]) {
        let now_ms = self.now_ms;
        for effect in effects {
            let held = &mut self.sides[side].phones[phone];
            let generation = held.generation;
            match effect {
                Effect::Append { append, rows } => self.write(side, phone, append, rows),
                Effect::Save { key, text, .. } => {
                    held.disk.save(&key, text.map_or_else(|| body.to_vec(), String::into_bytes));
                }
                Effect::Purge { row } => {
                    // The phone has these rows, because it reads all of them before it purges any.
                    let n = row.n;
                    if let Err(why) = held.disk.purge(row) {
                        self.sides[side].record.broken("I2", format!("phone {phone} purges up to row {n}: {why}"));
                    }
                }
                Effect::Forget { key } => held.disk.forget(&key),
                Effect::WipeCaches if self.planted.is(Mutant::NotWiped) => {}
                Effect::WipeCaches => held.disk.wipe_caches(),
                Effect::Send { request, method, path, headers, body, timeout_ms, urgent, .. } => {
                    self.coverage.hit_if(urgent, "asked before the door opened");
                    held.requests.insert(request, held.clock.mono_ms(now_ms));
                    held.witness = headers
                        .iter()
                        .find(|(name, _)| name == admit_core::wire::scanning::WITNESS_HEADER)
                        .map(|(_, text)| text.clone());
                    if self.config.improper {
                        held.carried.insert(request, held.witness.clone());
                    }
                    if path.ends_with("/heartbeat") {
                        held.beat = Some((request, now_ms));
                    }
                    let wire = Request { method, path, headers, body };
                    let author = held.identity.as_ref().map(|(device_id, _)| device_id.clone());
                    self.send(side, Asker { phone, generation, request, author }, wire, timeout_ms);
                }
                Effect::Cancel { request } => {
                    held.requests.remove(&request);
                }
                Effect::Wake { at_mono_ms } => {
                    held.wake += 1;
                    let (wake, at) = (held.wake, held.clock.true_at_mono(at_mono_ms));
                    self.at(side, at, Ev::Wake { phone, generation, wake, at_mono_ms });
                }
                Effect::Show { mut verdict } => {
                    verdict.list_expired &= !self.planted.is(Mutant::ExpiredIsPlain);
                    self.shown(side, phone, *verdict);
                }
                Effect::View { view } => held.view = Some(*view),
                Effect::Undone { scan_id, count } => {
                    self.coverage.hit("revert");
                    let trace = &mut self.sides[side].trace;
                    trace.line(now_ms - BEGINNING_MS, format_args!("{phone} undone {scan_id} {count}"));
                }
                Effect::PinRefused { .. } => self.coverage.hit("pin refused"),
                Effect::Refused { code, .. } => {
                    let trace = &mut self.sides[side].trace;
                    trace.line(now_ms - BEGINNING_MS, format_args!("{phone} refused {code}"));
                }
                Effect::Export { .. } => self.coverage.hit("export"),
                // No gate of the simulator allows names, and nobody locks a screen.
                Effect::Found { .. } | Effect::PinOk => {}
            }
        }
        let Side { phones, record, .. } = &mut self.sides[side];
        // A server that went back may know the device again and give it a list, before the device has recorded its
        // revocation.
        if record.restores == 0 && phones[phone].phase() == Phase::Revoked && !phones[phone].disk.cached().is_empty() {
            let kept = phones[phone].disk.cached().keys().cloned().collect::<Vec<_>>().join(", ");
            let after_ms = now_ms - BEGINNING_MS;
            record.broken("I18", format!("phone {phone} is revoked and after {after_ms} ms still keeps {kept}"));
        }
    }

    /// Fires a timer of the monotonic clock. A timer that was set before a sleep fires later by the length of the
    /// sleep.
    fn wake(&mut self, side: usize, phone: usize, generation: u64, wake: u64, at_mono_ms: i64) {
        let held = &self.sides[side].phones[phone];
        if held.wake != wake || held.generation != generation {
            return;
        }
        if held.clock.mono_ms(self.now_ms) < at_mono_ms {
            let at = held.clock.true_at_mono(at_mono_ms);
            return self.at(side, at, Ev::Wake { phone, generation, wake, at_mono_ms });
        }
        self.input(side, phone, generation, Input::Tick, Vec::new());
    }

    /// Starts to write rows to the disk.
    fn write(&mut self, side: usize, phone: usize, append: u64, rows: Vec<admit_core::wire::engine::Row>) {
        let (now_ms, chaos) = (self.now_ms, self.chaos());
        let full = if chaos { self.config.disk_full } else { 0 };
        let Side { phones, rng, .. } = &mut self.sides[side];
        let fails = rng.per_mille(full);
        let at = now_ms + if chaos { rng.between(1, 30) } else { 2 };
        let held = &mut phones[phone];
        held.writing.insert(append, Writing { rows, at_ms: now_ms });
        let generation = held.generation;
        self.at(side, at, Ev::DiskDone { phone, generation, append, fails });
        if self.planted.is(Mutant::ShowBeforeDurable) {
            self.input(side, phone, generation, Input::Appended { append }, Vec::new());
        }
    }

    /// Handles the end of a write.
    fn written(&mut self, side: usize, phone: usize, generation: u64, append: u64, fails: bool) {
        let held = &mut self.sides[side].phones[phone];
        if held.generation != generation {
            return;
        }
        let Some(writing) = held.writing.remove(&append) else { return };
        let input = if fails {
            self.coverage.hit("append failed");
            Input::AppendFailed { append, reason: "quota".into() }
        } else if self.make_durable(side, phone, &writing) {
            Input::Appended { append }
        } else {
            Input::AppendFailed { append, reason: "lost_lock".into() }
        };
        self.input(side, phone, generation, input, Vec::new());
    }

    /// Puts rows on stable storage and notes them in the simulator's record.
    pub(crate) fn make_durable(&mut self, side: usize, phone: usize, writing: &Writing) -> bool {
        let strict = !self.planted.is(Mutant::RelaxedJournal);
        let Side { phones, record, .. } = &mut self.sides[side];
        let held = &mut phones[phone];
        if held.disk.append(&writing.rows, strict).is_err() {
            return false;
        }
        let (before, apart) = (held.kept.len(), held.set_apart);
        if let Err(back) = held.note(&writing.rows, writing.at_ms) {
            record.broken("I15", format!("a list went back: {}", back.0));
        }
        self.coverage.hit_if(held.set_apart > apart, "scan set apart");
        for kept in &held.kept[before..] {
            let scan = &kept.scanned.scan;
            record.made.insert(kept.digest, (scan.device_id.clone(), scan.scan_id.clone()));
            self.checked.hit_if(kept.true_ms.is_some(), "I10");
            if let Some(true_ms) = kept.true_ms
                && scan.at.ms().abs_diff(true_ms) > scan.uncertainty_ms
            {
                let what =
                    format!("{} says {} ± {}, true is {}", scan.scan_id, scan.at.ms(), scan.uncertainty_ms, true_ms);
                record.broken("I10", what);
            }
        }
        true
    }

    // ---------------------------------------------------------------------------------------------------- server

    /// The faults of the server itself, sorted so that the last element happens first. They are drawn independently of
    /// what any organisation does.
    fn server_faults(&mut self) -> Vec<(i64, ServerFault)> {
        let Config { chaos_ms, restores, improper, server_crash, kills, .. } = self.config;
        let mut faults = Vec::new();
        for n in 0..restores {
            let backup = self.own.between(chaos_ms / 10, chaos_ms * 6 / 10);
            let restore = self.own.between(backup + 1, chaos_ms - 1);
            faults.push((BEGINNING_MS + backup, ServerFault::Backup));
            faults.push((BEGINNING_MS + restore, ServerFault::Restore { proper: !(improper && n == 0) }));
        }
        for minute in 0..chaos_ms / 60_000 {
            if self.own.per_mille(server_crash) {
                let at = minute * 60_000 + self.own.between(0, 59_999);
                faults.push((BEGINNING_MS + at, ServerFault::Kill));
            }
        }
        for _ in 0..kills {
            faults.push((BEGINNING_MS + self.own.between(0, chaos_ms - 1), ServerFault::Kill));
        }
        // The epoch begins after everything else of its millisecond and before everything of the next.
        faults.extend(self.foretold.iter().map(|(at, _, epoch)| (at + 1, ServerFault::Epoch(*epoch))));
        faults.sort_by_key(|(at, _)| Reverse(*at));
        faults
    }

    /// Adds a fault of the server to each organisation's trace.
    fn note(&mut self, what: &str) {
        let at_ms = self.now_ms - BEGINNING_MS;
        self.sides.iter_mut().for_each(|side| side.trace.line(at_ms, format_args!("{what}")));
    }

    fn server_fault(&mut self, fault: ServerFault) {
        self.sides.iter_mut().for_each(|side| side.stirred += 1);
        match fault {
            ServerFault::Backup => {
                self.note("a backup is taken");
                self.server.backup();
                self.sides.iter_mut().for_each(|side| side.record.backup());
            }
            ServerFault::Restore { proper } => {
                self.note(if proper { "the server is restored" } else { "the server is restored without the command" });
                self.server.restore(self.now_ms, proper);
                self.sides.iter_mut().for_each(|side| side.record.restore());
            }
            ServerFault::Kill => self.server.kill(),
            ServerFault::Epoch(epoch) => self.server.begin(epoch),
        }
    }

    /// The hash of all organisations' traces, in their order.
    pub fn trace_hash(&self) -> u64 {
        self.sides.iter().fold(0, |hash: u64, side| hash.rotate_left(1) ^ side.trace.hash())
    }
}

#[derive(Debug, Clone, Copy)]
enum ServerFault {
    Backup,
    Restore { proper: bool },
    Kill,
    Epoch(Epoch),
}
