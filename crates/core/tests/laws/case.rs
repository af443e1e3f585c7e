//! An event written by hand or by the generator: its rules, reviews and scans, and their reduction.

use admit_core::barcode::BarcodeHash;
use admit_core::event::{Days, EventRules, EventStatus, ReEntry, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::ids::{DeviceId, EventId, GateId, ScanId, TicketId};
use admit_core::incident::{Cause, IncidentKind, Subject};
use admit_core::reduce::{Reduced, Resolved, Rules, ScanVerdict, reduce};
use admit_core::review::{Decision, Review};
use admit_core::rule::{
    Change, DeviceChange, Effective, Epoch, Epochs, EventBook, EventChange, GateChange, Rule, TicketBook, TicketChange,
};
use admit_core::scan::{
    Digest, Fact, Form, Headcount, Judged, Method, Outcome, Override, Scan, ScanKind, SignatureState, Stage, WalkIn,
};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use sha2::{Digest as _, Sha256};

/// The epoch of every history that names none.
pub const EPOCH: Epoch = Epoch { restored_at_ms: 1_000, random: 1 };

/// A time on the evening of the event: `19:30` or `19:30:05`. Hours from 24 on are after midnight.
pub fn at(text: &str) -> Timestamp {
    let mut parts = text.split(':').map(|part| part.parse::<i64>().unwrap());
    let (hours, minutes, seconds) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap_or(0));
    Timestamp::parse("2026-06-07T00:00:00Z").unwrap().plus_ms(((hours * 60 + minutes) * 60 + seconds) * 1_000)
}

pub fn device(id: &str) -> DeviceId {
    DeviceId::new(id).unwrap()
}
pub fn gate(id: &str) -> GateId {
    GateId::new(id).unwrap()
}
pub fn scan_id(id: &str) -> ScanId {
    ScanId::new(id).unwrap()
}
pub fn ticket_id(id: &str) -> TicketId {
    TicketId::new(id).unwrap()
}
pub fn ticket(id: &str) -> Subject {
    Subject::Ticket(ticket_id(id))
}
pub fn unknown(code: &str) -> Subject {
    Subject::Unknown(BarcodeHash::of(code))
}

/// Builds a verified scan in Admit's form, by a device whose list is version 1. `.build()` makes the fact.
#[derive(Clone)]
pub struct Scanned(Fact);

fn scanned(kind: ScanKind, device_id: &str, id: &str, time: Timestamp, code: &str) -> Scanned {
    let scan = Scan {
        form: Form::V2,
        scan_id: scan_id(id),
        device_id: device(device_id),
        log_id: None,
        seq: None,
        prev: None,
        key_id: None,
        event_id: EventId::new("event").unwrap(),
        gate_id: gate("north"),
        kind,
        stage: Stage::Final,
        method: Method::Qr,
        barcode_hash: Some(BarcodeHash::of(code)),
        raw_hash: None,
        ticket_id: None,
        count: 1,
        outcome: Outcome::Valid,
        opened: true,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: None,
        target_device: None,
        target_scan_id: None,
        keep: 0,
        at: time,
        uncertainty_ms: 500,
        clock: None,
        epoch: Some(EPOCH),
        manifest_version: 1,
        cursor: 0,
        practice: false,
        basis: None,
    };
    Scanned(Fact {
        scan,
        digest: Digest([0; 32]),
        signature: SignatureState::Verified,
        withheld: false,
        offset_seconds: 0,
        received_at: at("30:00"),
        judged: None,
    })
}

/// An entry with `code`, recorded by `device_id` at `time`.
pub fn entry(device_id: &str, id: &str, time: Timestamp, code: &str) -> Scanned {
    scanned(ScanKind::Entry, device_id, id, time, code)
}
/// An exit with `code`, recorded by `device_id` at `time`.
pub fn exit(device_id: &str, id: &str, time: Timestamp, code: &str) -> Scanned {
    scanned(ScanKind::Exit, device_id, id, time, code).gate("out")
}
/// A revert of `target` (device id, scan id). `code` is the target's code.
pub fn revert(device_id: &str, id: &str, time: Timestamp, code: &str, target: (&str, &str)) -> Scanned {
    let mut out = scanned(ScanKind::Revert, device_id, id, time, code);
    out.0.scan.target_device = Some(device(target.0));
    out.0.scan.target_scan_id = Some(scan_id(target.1));
    out
}

/// A scan in which staff add a guest of `party` persons, all of whom go in.
pub fn walk_in(device_id: &str, id: &str, time: Timestamp, zone: &str, party: u32) -> Scanned {
    let mut out = scanned(ScanKind::Entry, device_id, id, time, "-").count(party);
    let scan = &mut out.0.scan;
    let ticket = WalkIn::ticket_id(&scan.event_id, &scan.device_id, &scan.scan_id).unwrap();
    scan.walk_in = Some(WalkIn { zone: zone.into(), party, name_digest: WalkIn::digest_of(&[7; 16], "Ada") });
    out.picked(&ticket)
}

/// A headcount: staff count people who have no ticket, or everybody inside.
pub fn headcount(device_id: &str, id: &str, time: Timestamp, headcount: Headcount) -> Scanned {
    let mut out = scanned(ScanKind::Headcount, device_id, id, time, "-").count(headcount.persons());
    let scan = &mut out.0.scan;
    let subject = Headcount::subject_id(&scan.event_id, &scan.device_id, &scan.scan_id).unwrap();
    scan.headcount = Some(headcount);
    out.picked(&subject)
}

impl From<Fact> for Scanned {
    fn from(fact: Fact) -> Self {
        Self(fact)
    }
}

impl Scanned {
    pub fn with(mut self, change: impl FnOnce(&mut Fact)) -> Self {
        change(&mut self.0);
        self
    }
    pub fn count(self, count: u32) -> Self {
        self.with(|fact| fact.scan.count = count)
    }
    pub fn keep(self, keep: u32) -> Self {
        self.with(|fact| fact.scan.keep = keep)
    }
    pub fn gate(self, id: &str) -> Self {
        self.with(|fact| fact.scan.gate_id = gate(id))
    }
    /// The screen refused, and the door stayed shut.
    pub fn shut(self, outcome: Outcome) -> Self {
        self.with(|fact| (fact.scan.outcome, fact.scan.opened) = (outcome, false))
    }
    /// The screen refused, and staff with the PIN opened the door.
    pub fn overridden(self, outcome: Outcome) -> Self {
        self.with(|fact| {
            fact.scan.outcome = outcome;
            fact.scan.override_ = Some(Override { by: "Ada".into(), reason: "on the list".into() });
        })
    }
    /// Turns the scan into S1's form.
    pub fn v1(self, offset_seconds: i64) -> Self {
        self.with(|fact| {
            fact.scan.form = Form::V1;
            fact.scan.uncertainty_ms = 1_000;
            (fact.scan.epoch, fact.scan.manifest_version) = (None, 0);
            fact.offset_seconds = offset_seconds;
        })
    }
    /// Turns the scan into S2's form.
    pub fn s2(self) -> Self {
        self.v1(0).with(|fact| {
            fact.scan.form = Form::S2;
            fact.signature = SignatureState::Bearer;
        })
    }
    /// The scan's device knew every rule up to this serial.
    pub fn knowing(self, serial: u64) -> Self {
        self.with(|fact| fact.scan.manifest_version = serial)
    }
    /// The device asked the server first. The server answered so under this head serial, or gave no answer.
    pub fn claim(self, judged: Option<(u64, Outcome)>) -> Self {
        self.with(|fact| {
            fact.scan.stage = Stage::Claim;
            fact.judged = judged.map(|(serial, outcome)| Judged { serial, outcome });
        })
    }
    /// The scan was taken while its device's list said `draft`.
    pub fn practice(self) -> Self {
        self.with(|fact| fact.scan.practice = true)
    }
    /// Staff picked the ticket by hand, so no code was read.
    pub fn picked(self, ticket: &TicketId) -> Self {
        self.with(|fact| {
            fact.scan.method = Method::Manual;
            (fact.scan.barcode_hash, fact.scan.ticket_id) = (None, Some(ticket.clone()));
        })
    }
    pub fn unverified(self) -> Self {
        self.with(|fact| fact.signature = SignatureState::Unverified)
    }
    pub fn uncertainty(self, ms: u64) -> Self {
        self.with(|fact| fact.scan.uncertainty_ms = ms)
    }
    /// Makes the fact and names it by the digest of its content.
    pub fn build(self) -> Fact {
        let digest = Digest(Sha256::digest(format!("{:?}", self.0.scan)).into());
        Fact { digest, ..self.0 }
    }
}

/// Event days that begin while people come in.
pub fn days() -> Days {
    Days::new(["06:00", "19:10", "22:00", "30:00"].map(at).to_vec())
}

/// The rules of an event from 18:00 to 02:00.
pub fn event(re_entry: ReEntry) -> EventRules {
    EventRules {
        name: "Fest".into(),
        starts_at: at("18:00"),
        ends_at: at("26:00"),
        status: EventStatus::Live,
        re_entry,
        min_gap_seconds: 300,
        staff_pin: None,
        opened_at: Some(at("18:00")),
        days: if re_entry == ReEntry::Daily { days() } else { Days::default() },
        limits: ZoneLimits::default(),
        walk_ins: None,
    }
}

/// The rules, reviews and facts of one event.
#[derive(Debug, Clone)]
pub struct Case {
    pub rules: Vec<Rule>,
    pub reviews: Vec<Review>,
    pub facts: Vec<Fact>,
    pub epochs: Epochs,
    pub serial: u64,
}

impl Case {
    /// An [`event`] with gates `north` and `south` (in), `vip` (in, zone vip), `free` (in, does not check duplicates)
    /// and `out`.
    pub fn new(re_entry: ReEntry) -> Self {
        let epochs = Epochs::new(vec![(EPOCH, 0)]);
        let mut case = Self { rules: Vec::new(), reviews: Vec::new(), facts: Vec::new(), epochs, serial: 0 };
        case.rule(Effective::Start, Change::Event(EventChange::First(event(re_entry))));
        for (id, zone, direction) in [
            ("north", "general", Direction::In),
            ("south", "general", Direction::In),
            ("vip", "vip", Direction::In),
            ("free", "general", Direction::In),
            ("out", "general", Direction::Out),
        ] {
            let mut entry_rules = vec![EntryRule::CheckTicketValid];
            if id != "free" {
                entry_rules.push(EntryRule::CheckNotDuplicate);
            }
            let rules = GateRules {
                name: id.into(),
                zones: vec![zone.into()],
                direction,
                capacity: None,
                names_on_devices: false,
                walk_ins: false,
                entry_rules,
            };
            case.serial = 0; // One transaction.
            case.rule(Effective::Start, Change::Gate(gate(id), GateChange::First(rules)));
        }
        case
    }
    /// Adds a rule with the next serial, and returns that serial.
    pub fn rule(&mut self, effective_at: Effective, change: Change) -> u64 {
        self.serial += 1;
        let ordinal = self.rules.len() as u32;
        self.rules.push(Rule { serial: self.serial, ordinal, effective_at, change });
        self.serial
    }
    /// Adds a ticket of the zone `general`. Its code equals its id.
    pub fn ticket(self, id: &str, entry_limit: u32) -> Self {
        self.ticket_with(id, entry_limit, |_| {})
    }
    pub fn ticket_with(mut self, id: &str, entry_limit: u32, change: impl FnOnce(&mut TicketRules)) -> Self {
        let mut rules = TicketRules {
            status: TicketStatus::Active,
            entry_limit,
            gate_ids: vec![],
            zone: "general".into(),
            valid_from: None,
            expires_at: None,
        };
        change(&mut rules);
        self.rule(Effective::Start, Change::Ticket(ticket_id(id), TicketChange::First(rules)));
        self
    }
    /// Adds the first rules of a ticket with any id.
    pub fn rules_of(&mut self, id: &TicketId, rules: TicketRules) {
        self.rule(Effective::Start, Change::Ticket(id.clone(), TicketChange::First(rules)));
    }
    /// Adds a later change of a ticket, in force from `from`.
    pub fn change(mut self, id: &str, from: Timestamp, change: TicketChange) -> Self {
        self.rule(Effective::At(from), Change::Ticket(ticket_id(id), change));
        self
    }
    /// Adds a later change of the event, in force from `from`.
    pub fn change_event(mut self, from: Timestamp, change: EventChange) -> Self {
        self.rule(Effective::At(from), Change::Event(change));
        self
    }
    /// The device is believed lost since `since`.
    pub fn lost(mut self, device_id: &str, since: Option<Timestamp>) -> Self {
        let change = Change::Device(device(device_id), DeviceChange::LostSince(since));
        self.rule(Effective::Start, change);
        self
    }
    pub fn scan(mut self, scan: Scanned) -> Self {
        self.facts.push(scan.build());
        self
    }
    /// Adds a person's decision about the content of a fact that was added before.
    pub fn review(mut self, device_id: &str, id: &str, decision: Decision) -> Self {
        let fact = self
            .facts
            .iter()
            .find(|fact| fact.scan.device_id.as_str() == device_id && fact.scan.scan_id.as_str() == id);
        let digest = fact.expect("the reviewed scan is here").digest;
        self.serial += 1;
        let review =
            Review { serial: self.serial, device_id: device(device_id), scan_id: scan_id(id), digest, decision };
        self.reviews.push(review);
        self
    }

    /// The subject of a fact (spec §4 "Which ticket"). In these tests codes equal ticket ids.
    pub fn subject_of(&self, fact: &Fact) -> Subject {
        let of_hash = self.rules.iter().find_map(|rule| match &rule.change {
            Change::Ticket(id, TicketChange::First(_))
                if fact.scan.barcode_hash == Some(BarcodeHash::of(id.as_str())) =>
            {
                Some(id.clone())
            }
            _ => None,
        });
        let by_hand = || fact.scan.ticket_id.clone().filter(|_| fact.scan.method == Method::Manual);
        match (of_hash.or_else(by_hand), fact.scan.barcode_hash) {
            (Some(id), _) => Subject::Ticket(id),
            (None, hash) => Subject::Unknown(hash.unwrap_or(BarcodeHash([0; 32]))),
        }
    }
    pub fn resolved(&self) -> Vec<Resolved> {
        self.facts.iter().map(|fact| (self.subject_of(fact), fact.clone())).collect()
    }
    /// Every subject of any fact.
    pub fn subjects(&self) -> Vec<Subject> {
        let set: std::collections::BTreeSet<_> = self.facts.iter().map(|fact| self.subject_of(fact)).collect();
        set.into_iter().collect()
    }
    pub fn book(&self) -> EventBook {
        EventBook::new(&self.rules, self.epochs.clone())
    }
    pub fn ticket_book(&self, subject: &Subject) -> Option<TicketBook> {
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
    pub fn reduce_as(&self, subject: &Subject, newest: bool) -> Reduced {
        let (event, ticket) = (self.book(), self.ticket_book(subject));
        let rules = Rules { event: &event, ticket: ticket.as_ref(), newest };
        reduce(subject, rules, &self.reviews, &self.resolved())
    }
    pub fn reduce(&self, subject: &Subject) -> Reduced {
        self.reduce_as(subject, false)
    }
    /// The reduction of every subject.
    pub fn reduce_all(&self) -> Vec<(Subject, Reduced)> {
        let (event, facts) = (self.book(), self.resolved());
        let reduce_one = |subject: Subject| {
            let ticket = self.ticket_book(&subject);
            let rules = Rules { event: &event, ticket: ticket.as_ref(), newest: false };
            let reduced = reduce(&subject, rules, &self.reviews, &facts);
            (subject, reduced)
        };
        self.subjects().into_iter().map(reduce_one).collect()
    }
    /// The reduction of the ticket `t`.
    pub fn t(&self) -> Reduced {
        self.reduce(&ticket("t"))
    }
}

/// The verdict of the scan with this device id and scan id.
pub fn verdict<'a>(reduced: &'a Reduced, device_id: &str, id: &str) -> &'a ScanVerdict {
    let is = |verdict: &&ScanVerdict| verdict.device_id.as_str() == device_id && verdict.scan_id.as_str() == id;
    reduced.verdicts.iter().find(is).expect("the scan has a verdict")
}

/// The cause of this kind. `None` if it does not hold.
pub fn cause(reduced: &Reduced, kind: IncidentKind) -> Option<&Cause> {
    reduced.causes.iter().find(|cause| cause.kind == kind)
}

/// The kinds of the incident causes that were found.
pub fn kinds(reduced: &Reduced) -> Vec<IncidentKind> {
    reduced.causes.iter().map(|cause| cause.kind).collect()
}
