//! The server of level 0: only sets of facts and `reduce` (trust §3), without a store and without use cases. So a
//! violation at level 0 is a bug of the engine, the wire format or the reducer.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use admit_core::audit;
use admit_core::barcode::BarcodeHash;
use admit_core::event::{Days, ZoneLimits};
use admit_core::ids::{BatchId, DeviceId, EventId, GateId, LogId, OrganizationId, ScanId, TicketId};
use admit_core::incident::{IncidentKind, Subject};
use admit_core::manifest::build::Large;
use admit_core::reduce::{Reduced, Resolved, Rules, reduce};
use admit_core::review::Review;
use admit_core::rule::{Change, Effective, Epoch, Epochs, EventBook, EventChange, Rule, TicketBook, TicketChange};
use admit_core::scan::{Digest, Fact, Method};
use admit_core::sign::ApiKey;
use admit_core::ticket::Group;
use admit_core::time::Timestamp;

use crate::config::Config;
use crate::coverage::Coverage;
use crate::mutants::{Mutant, Planted};
use crate::rng::Rng;
use crate::server::{Act, IncidentTruth, LogTruth, Reply, Request, Reviewable, Server, Truth};

mod acts;
mod routes;
mod lists;
mod online;
mod sync;

/// The secret under which witnesses are made.
const SECRET: &[u8] = b"a server's own secret";

/// A device in the server's state.
#[derive(Debug, Clone)]
struct Device {
    /// All keys that the device ever had, the present one last. Old keys still prove who wrote a scan.
    keys: Vec<ApiKey>,
    key_ids: Vec<String>,
    /// Whether the present key was used.
    key_used: bool,
    gate_id: GateId,
    revoked: bool,
    quota_left: u64,
}

/// A pairing token.
#[derive(Debug, Clone)]
struct Token {
    gate_id: GateId,
    used_by: Option<DeviceId>,
}

/// A device's log in the server's state.
#[derive(Debug, Clone, Default)]
struct Log {
    head: u64,
    received: BTreeMap<u64, BTreeSet<Digest>>,
    /// Places in the log whose item could not be read. They count as received and are listed as rejected.
    rejected: BTreeSet<u64>,
}

/// The large parts of the list of one version, each with the event's end. The key is the version from which a delta
/// starts; `None` is the whole list.
#[derive(Debug, Clone, Default)]
struct Lists {
    version: u64,
    made: BTreeMap<Option<u64>, (Timestamp, Rc<Large>)>,
}

/// One organisation with its only event.
#[derive(Debug, Clone)]
struct Org {
    id: OrganizationId,
    event_id: EventId,
    rng: Rng,
    planted: Planted,
    serial: u64,
    last_effective_ms: i64,
    audit: Vec<[u8; 32]>,
    rules: Vec<Rule>,
    /// The rules of event and gates, and the epochs. They are kept apart because every reduction needs them.
    book: EventBook,
    reviews: Vec<Review>,
    facts: BTreeMap<(DeviceId, ScanId), BTreeMap<Digest, Fact>>,
    derived: BTreeMap<Subject, Reduced>,
    incidents: BTreeMap<(Subject, IncidentKind), IncidentTruth>,
    codes: BTreeMap<BarcodeHash, TicketId>,
    /// For each ticket, the serial of its last rule change.
    ruled_at: BTreeMap<TicketId, u64>,
    changed_at: BTreeMap<TicketId, u64>,
    /// The serial of the last change of the event or a gate.
    event_at: u64,
    version: u64,
    lists: Lists,
    devices: BTreeMap<DeviceId, Device>,
    tokens: BTreeMap<String, Token>,
    batches: BTreeMap<(DeviceId, BatchId), ([u8; 32], Vec<u8>)>,
    /// The answers to claims, by the claim's digest.
    judged: BTreeMap<Digest, Vec<u8>>,
    logs: BTreeMap<(DeviceId, LogId), Log>,
    epochs: Vec<(Epoch, u64)>,
    /// The beginnings of days, if the event is daily.
    days: Days,
    /// The bookings of tickets.
    groups: BTreeMap<TicketId, Group>,
}

/// Everything that a backup contains.
#[derive(Debug, Clone)]
struct State {
    orgs: Vec<Org>,
    epoch: Epoch,
}

/// The server of level 0.
#[derive(Debug)]
pub struct ModelServer {
    state: State,
    backup: Option<State>,
    /// The state to which a kill puts the server back; `None` unless a planted bug sets it.
    committed: Option<State>,
    uncommitted: u32,
    /// Randomness that no organisation sees, for epochs.
    rng: Rng,
    begun: Vec<Epoch>,
    coverage: Coverage,
    planted: Planted,
}

impl ModelServer {
    /// Makes a server with its organisations, which use the same ids.
    pub fn new(seed: u64, config: &Config, now_ms: i64, planted: Planted) -> Self {
        let epoch = Epoch { restored_at_ms: now_ms - 1_000, random: 1 };
        let orgs = (0..config.orgs).map(|org| Org::new(seed, org, config, now_ms, epoch, planted)).collect();
        let state = State { orgs, epoch };
        let rng = Rng::of(seed, "server", 0);
        let committed = planted.is(Mutant::AckBeforeCommit).then(|| state.clone());
        Self {
            state,
            backup: None,
            committed,
            uncommitted: 0,
            rng,
            begun: vec![],
            coverage: Coverage::default(),
            planted,
        }
    }

    /// Begins a new epoch. Changes of the old epoch that the server lost do not count as known to any device (spec §3).
    fn begin_epoch(&mut self, now_ms: i64, after: Epoch) {
        let restored_at_ms = now_ms.max(after.restored_at_ms + 1).max(self.state.epoch.restored_at_ms + 1);
        let random = self.rng.draw();
        self.set_epoch(Epoch { restored_at_ms, random });
    }

    fn set_epoch(&mut self, epoch: Epoch) {
        self.state.epoch = epoch;
        self.begun.push(epoch);
        for org in &mut self.state.orgs {
            org.epochs.push((epoch, org.serial));
            org.book.epochs = Epochs::new(org.epochs.clone());
            // It is now known which knowledge of devices was lost, so their scans are judged again.
            let beyond = |fact: &&Fact| fact.scan.manifest_version.max(fact.scan.cursor) > org.serial;
            let facts = org.facts.values().flat_map(BTreeMap::values).filter(beyond);
            let touched: BTreeSet<Subject> = facts.map(|fact| org.subject_of(fact)).collect();
            if !touched.is_empty() {
                org.refold(&touched, &mut self.coverage, self.planted);
            }
        }
        self.coverage.hit("epoch changed");
    }

    /// A planted bug: commits only every third request.
    fn commit(&mut self) {
        if let Some(committed) = &mut self.committed {
            self.uncommitted += 1;
            if self.uncommitted.is_multiple_of(3) {
                *committed = self.state.clone();
            }
        }
    }
}

impl Org {
    /// Takes the event's head: every write gets its own serial and a line in the ledger.
    fn take_head(&mut self, now_ms: i64, action: &str, entity_id: &str) -> u64 {
        self.serial += 1;
        let line = audit::AuditEntry {
            serial: self.serial,
            n: self.serial,
            at: Timestamp::clamped(now_ms),
            actor: "system",
            action,
            entity_type: "",
            entity_id,
            changes: "{}",
            metadata: "{}",
        };
        let head = self.audit.last().copied().unwrap_or(audit::GENESIS);
        self.audit.push(audit::chain(head, &line));
        if self.planted.is(Mutant::LineTwice) && self.serial.is_multiple_of(8) {
            self.audit.push(audit::chain(head, &line));
        }
        self.serial
    }

    /// The subject of a scan: the ticket that has, or had, its code; else the ticket that a person picked.
    fn subject_of(&self, fact: &Fact) -> Subject {
        match self.ticket_of(fact) {
            Some(id) => Subject::Ticket(id.clone()),
            None => Subject::Unknown(code_of(fact)),
        }
    }
    fn ticket_of<'a>(&'a self, fact: &'a Fact) -> Option<&'a TicketId> {
        let scan = &fact.scan;
        let by_hand =
            || scan.ticket_id.as_ref().filter(|_| scan.method == Method::Manual || scan.barcode_hash.is_none());
        scan.barcode_hash.and_then(|hash| self.codes.get(&hash)).or_else(by_hand)
    }
    /// Whether [`Self::subject_of`] is this subject. It copies no ids, because it is called for every fact at every
    /// reduction.
    fn is_about(&self, fact: &Fact, subject: &Subject) -> bool {
        match (self.ticket_of(fact), subject) {
            (Some(id), Subject::Ticket(subject)) => id == subject,
            (None, Subject::Unknown(hash)) => code_of(fact) == *hash,
            _ => false,
        }
    }

    /// The faults of the ledger. At level 0 only the number of its lines can be wrong.
    fn ledger_faults(&self) -> Vec<String> {
        let lines = self.audit.len() as u64 - 1;
        let wrong = (lines != self.serial).then(|| format!("{lines} lines of {} changes", self.serial));
        wrong.into_iter().collect()
    }

    /// Every stored content of a scan with its subject.
    fn resolved(&self) -> Vec<Resolved> {
        let all = self.facts.values().flat_map(BTreeMap::values);
        all.map(|fact| (self.subject_of(fact), fact.clone())).collect()
    }

    /// The rules of event, gates and devices, built again for the checkers.
    fn book_anew(&self) -> EventBook {
        EventBook::new(&self.rules, Epochs::new(self.epochs.clone()))
    }

    fn ticket_book(&self, subject: &Subject) -> Option<TicketBook> {
        let id = subject.ticket_id()?;
        let mut book = None;
        for rule in &self.rules {
            if let Change::Ticket(of, change) = &rule.change
                && of == id
            {
                book.get_or_insert_with(TicketBook::default).add(rule, change);
            }
        }
        book
    }

    /// The subjects in `touched`, and the subjects of all other contents under the same scan ids. All of them must be
    /// reduced again, because the reducer takes one of the contents of a scan.
    fn with_variants(&self, touched: &BTreeSet<Subject>) -> BTreeSet<Subject> {
        let mut all = touched.clone();
        for contents in self.facts.values().filter(|contents| contents.len() > 1) {
            let subjects: BTreeSet<Subject> = contents.values().map(|fact| self.subject_of(fact)).collect();
            if subjects.iter().any(|subject| touched.contains(subject)) {
                all.extend(subjects);
            }
        }
        all
    }

    /// Reduces the given subjects again, stores the results, and opens, changes or clears their incidents.
    fn refold(&mut self, touched: &BTreeSet<Subject>, coverage: &mut Coverage, planted: Planted) {
        let forgotten = match planted {
            _ if planted.is(Mutant::DaysForgotten) => Some(EventChange::Days(Days::default())),
            _ if planted.is(Mutant::LimitsForgotten) => Some(EventChange::Limits(ZoneLimits::default())),
            _ => None,
        };
        let without = forgotten.map(|change| {
            let mut book = self.book.clone();
            let (serial, ordinal, change) = (u64::MAX, 0, Change::Event(change));
            book.add(&Rule { serial, ordinal, effective_at: Effective::Start, change });
            book
        });
        for subject in self.with_variants(touched) {
            let ticket = self.ticket_book(&subject);
            let rules = Rules { event: without.as_ref().unwrap_or(&self.book), ticket: ticket.as_ref(), newest: false };
            let own: Vec<Resolved> = self.facts_for(&subject, planted);
            let reduced = reduce(&subject, rules, &self.reviews, &own);
            self.make_ticket(&subject, &reduced, ticket.is_some());
            self.note_changes(&subject, &reduced, coverage, planted);
            if let Some(id) = subject.ticket_id() {
                self.changed_at.insert(id.clone(), self.serial);
            }
            if reduced == Reduced::default() {
                self.derived.remove(&subject);
            } else {
                self.derived.insert(subject, reduced);
            }
        }
    }

    /// Makes the ticket for a guest whom a scan added.
    fn make_ticket(&mut self, subject: &Subject, reduced: &Reduced, known: bool) {
        let (Some(walk_in), Some(id), false) = (reduced.counted_walk_in(), subject.ticket_id(), known) else { return };
        let change = Change::Ticket(id.clone(), TicketChange::First(walk_in.rules()));
        // This rule comes after all other rules of the same write.
        let ordinal = (1 << 20) + self.rules.len() as u32;
        self.rules.push(Rule { serial: self.serial, ordinal, effective_at: Effective::Start, change });
        self.ruled_at.insert(id.clone(), self.serial);
        self.version = self.serial;
        self.codes.insert(BarcodeHash::of(&format!("MADE-{id}")), id.clone());
    }

    /// The facts of a subject, with every other content under their scan ids.
    fn facts_for(&self, subject: &Subject, planted: Planted) -> Vec<Resolved> {
        let mut own: Vec<Resolved> = Vec::new();
        for contents in self.facts.values() {
            if contents.values().any(|fact| self.is_about(fact, subject)) {
                own.extend(contents.values().map(|fact| (self.subject_of(fact), fact.clone())));
            }
        }
        for (_, fact) in &mut own {
            if planted.is(Mutant::ArrivalOrder) {
                fact.scan.at = fact.received_at;
            }
            fact.withheld &= !planted.is(Mutant::RevokedCounts);
            fact.scan.practice &= !planted.is(Mutant::PracticeCounts);
            fact.scan.headcount = fact.scan.headcount.filter(|_| !planted.is(Mutant::HeadcountsForgotten));
            fact.scan.walk_in = fact.scan.walk_in.take().filter(|_| !planted.is(Mutant::WalkInsForgotten));
        }
        own
    }

    /// Opens, clears and reopens incidents of a subject.
    fn note_changes(&mut self, subject: &Subject, reduced: &Reduced, coverage: &mut Coverage, planted: Planted) {
        let empty = Reduced::default();
        let before = self.derived.get(subject).unwrap_or(&empty);
        for entry in &before.state.entries {
            let now = reduced
                .state
                .entries
                .iter()
                .find(|it| (&it.device_id, &it.scan_id) == (&entry.device_id, &entry.scan_id));
            coverage.hit_if(now.is_some_and(|now| now.within < entry.within), "entry moved to another scan");
        }
        let known = self.incidents.keys().filter(|(of, _)| of == subject).map(|(_, kind)| *kind);
        let kinds: BTreeSet<IncidentKind> = known.chain(reduced.causes.iter().map(|cause| cause.kind)).collect();
        for kind in kinds.into_iter().filter(|kind| kind.queued()) {
            let cause = reduced.causes.iter().find(|cause| cause.kind == kind);
            let key = (subject.clone(), kind);
            let fresh = IncidentTruth { digest: [0; 32], open: false, holds: false, resolved: None };
            let incident = self.incidents.entry(key).or_insert(fresh);
            let was_open = incident.open;
            incident.holds = cause.is_some();
            if let Some(cause) = cause {
                incident.digest = cause.digest();
            }
            let resolved = incident.resolved == Some(incident.digest)
                || planted.is(Mutant::ResolvedForEver) && incident.resolved.is_some();
            incident.open = incident.holds && !resolved;
            coverage.hit_if(incident.open && !was_open && incident.resolved.is_some(), "incident reopened");
        }
    }
}

impl Server for ModelServer {
    fn handle(&mut self, now_ms: i64, request: &Request) -> Reply {
        let reply = self.route(now_ms, request);
        self.commit();
        reply
    }

    fn act(&mut self, now_ms: i64, org: u64, act: &Act) -> Option<String> {
        let out = self.do_act(now_ms, org as usize, act);
        self.commit();
        out
    }

    fn kill(&mut self) {
        if let Some(mut committed) = self.committed.clone() {
            for (kept, org) in committed.orgs.iter_mut().zip(&self.state.orgs) {
                kept.rng = org.rng.clone();
            }
            self.state = committed;
        }
        self.coverage.hit("server killed");
    }

    fn backup(&mut self) {
        self.backup = Some(self.state.clone());
    }

    fn restore(&mut self, now_ms: i64, proper: bool) {
        let Some(mut backup) = self.backup.clone() else { return };
        let before = self.state.epoch;
        // Randomness belongs to the machine and not to the database, so a restored server does not draw former keys
        // again.
        for (restored, org) in backup.orgs.iter_mut().zip(&self.state.orgs) {
            restored.rng = org.rng.clone();
        }
        self.state = backup;
        self.coverage.hit("restore");
        if proper {
            self.begin_epoch(now_ms, before);
        }
        if let Some(committed) = &mut self.committed {
            *committed = self.state.clone();
        }
    }

    fn begun(&self) -> &[Epoch] {
        &self.begun
    }

    fn begin(&mut self, epoch: Epoch) {
        self.rng.draw(); // As many draws as if a witness had shown the roll-back here.
        self.set_epoch(epoch);
    }

    fn reviewable(&self, org: u64) -> Reviewable {
        let org = &self.state.orgs[org as usize];
        let facts = org.facts.values().flat_map(BTreeMap::values);
        let name = |fact: &Fact| (fact.scan.device_id.clone(), fact.scan.scan_id.clone(), fact.digest);
        let open = org.incidents.iter().filter(|(_, incident)| incident.open).map(|(key, _)| key.clone());
        Reviewable { scans: facts.map(name).collect(), open: open.collect() }
    }

    fn truth(&self, org: u64) -> Truth {
        let org = &self.state.orgs[org as usize];
        let logs = org.logs.iter().map(|(key, log)| {
            let received = log.received.keys().chain(&log.rejected).copied().collect();
            (key.clone(), LogTruth { head: log.head, received, missing: log.missing(self.planted) })
        });
        Truth {
            facts: org.resolved(),
            book: org.book_anew(),
            ticket_rules: org.rules.iter().filter(|rule| matches!(rule.change, Change::Ticket(..))).cloned().collect(),
            reviews: org.reviews.clone(),
            derived: org.derived.clone(),
            differences: Vec::new(),
            incidents: org.incidents.clone(),
            logs: logs.collect(),
            revoked: org.devices.iter().filter(|(_, device)| device.revoked).map(|(id, _)| id.clone()).collect(),
            ledger_faults: org.ledger_faults(),
            audit: org.audit.clone(),
            epoch: Some(self.state.epoch),
            serial: org.serial,
        }
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }
}

impl Log {
    /// The missing ranges: from 1 to the highest reported head, without the received places (spec §3 "Log").
    fn missing(&self, planted: Planted) -> Vec<(u64, u64)> {
        let top = self.received.keys().chain(&self.rejected).max().copied().unwrap_or(0);
        if planted.is(Mutant::NothingMissing) {
            return Vec::new();
        }
        let from = if planted.is(Mutant::GapsForgotten) { top + 1 } else { 1 };
        let mut out: Vec<(u64, u64)> = Vec::new();
        for seq in
            (from..=self.head.max(top)).filter(|seq| !self.received.contains_key(seq) && !self.rejected.contains(seq))
        {
            match out.last_mut() {
                Some((_, to)) if *to + 1 == seq => *to = seq,
                _ => out.push((seq, seq)),
            }
        }
        out
    }
}

/// The code that a scan read; an empty hash if it read none.
fn code_of(fact: &Fact) -> BarcodeHash {
    fact.scan.barcode_hash.unwrap_or(BarcodeHash([0; 32]))
}

/// Whether this is a ticket's first rule.
fn first_of(rule: &Rule) -> bool {
    matches!(rule.change, Change::Ticket(_, TicketChange::First(_))) && rule.effective_at == Effective::Start
}
