//! Makes whole histories from a seed. They contain everything that spec §3 and §4 allow, with ties and nonsense. The
//! seed alone reproduces a history.

use admit_core::event::{Days, EventStatus, Limits, ReEntry, ZoneLimits};
use admit_core::gate::Direction;
use admit_core::review::Decision;
use admit_core::rule::{Change, DeviceChange, Effective, Epoch, Epochs, EventChange, GateChange, TicketChange};
use admit_core::scan::{Basis, Fact, Headcount, Method, Outcome, PersonClass, ScanKind, SignatureState};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;

use crate::case::{Case, EPOCH, Scanned, at, device, entry, exit, gate, headcount, revert, ticket_id, walk_in};

/// The source of choices.
pub enum Rng {
    /// splitmix64, which gives the same numbers for a seed on every machine.
    Seed(u64),
    /// Bytes that a fuzzer provides (crates/fuzz), taken from the end. Zeros follow when they are used up.
    Bytes(Vec<u8>),
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self::Seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.iter().rev().copied().collect())
    }
    pub fn below(&mut self, n: u64) -> u64 {
        let n = n.max(1);
        match self {
            Self::Seed(state) => next(state) % n,
            Self::Bytes(bytes) => {
                // Uses as few bytes as the choice needs. A changed byte then changes one choice and leaves the others.
                let mut byte = || u64::from(bytes.pop().unwrap_or_default());
                let drawn = if n <= 256 { byte() } else { (0..4).fold(0, |drawn, _| drawn << 8 | byte()) };
                drawn % n
            }
        }
    }
    pub fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
    /// Draws one of several words.
    pub fn one_of<const N: usize>(&mut self, of: [&'static str; N]) -> &'static str {
        of[self.below(N as u64) as usize]
    }
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for i in (1..of.len()).rev() {
            of.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A history, and what stays constant in it.
pub struct History {
    pub case: Case,
    pub mode: ReEntry,
    /// Whether mode, gap and all tickets' limits never change. If so, the properties about counts hold in their plain
    /// form.
    pub constant: bool,
}

const DEVICES: [&str; 4] = ["a", "b", "c", "d"];
const GATES: [&str; 5] = ["north", "south", "vip", "free", "out"];
/// The last of these codes belongs to no ticket in most histories.
const CODES: [&str; 3] = ["t", "u", "late"];
const NEXT_EPOCH: Epoch = Epoch { restored_at_ms: 2_000, random: 2 };

struct Making {
    rng: Rng,
    case: Case,
    /// All times of the history are multiples of this many milliseconds.
    quantum_ms: i64,
    constant: bool,
    scans: Vec<(String, String, String)>,
}

/// The history that a seed makes.
pub fn history(seed: u64) -> History {
    history_of(Rng::new(seed))
}

/// The history that a sequence of choices makes.
pub fn history_of(mut rng: Rng) -> History {
    let mode = *rng.pick(ReEntry::ALL);
    let quantum_ms = *rng.pick(&[1, 1, 1_000, 5_000, 60_000, 600_000]);
    let constant = rng.percent(40);
    let mut case = Case::new(mode);
    let limit = |rng: &mut Rng| if rng.percent(5) { 0 } else { 1 + rng.below(5) as u32 };
    let (t, u) = (limit(&mut rng), limit(&mut rng));
    case = case.ticket("t", t).ticket("u", u);
    if rng.percent(30) {
        case = case.ticket("late", 1);
    }
    let mut making = Making { rng, case, quantum_ms, constant, scans: Vec::new() };
    let n = 1 + making.rng.below(16);
    for i in 0..n {
        match making.rng.below(100) {
            0..18 => making.rule(),
            18..28 => making.revert(i),
            28..36 => making.variant(),
            36..44 => making.delivery(),
            44..50 => making.walk_in(i),
            50..54 => making.headcount(i),
            _ => making.scan(i),
        }
    }
    for _ in 0..making.rng.below(4) {
        making.review();
    }
    if making.rng.percent(10) {
        let base = making.rng.below(making.case.serial + 1);
        making.case.epochs = Epochs::new(vec![(NEXT_EPOCH, base), (EPOCH, 0)]);
    }
    History { case: making.case, mode, constant }
}

impl Making {
    fn time(&mut self) -> Timestamp {
        let span = 9 * 3_600_000;
        // Most scans of a ticket are close together: otherwise hardly any would collide.
        let ms = if self.rng.percent(60) { self.rng.below(900_000) } else { self.rng.below(span) } as i64;
        let ms = at("19:00").ms() + ms;
        let ms = match self.rng.below(100) {
            0..3 => ms - 30 * 86_400_000,
            3..5 => ms + 30 * 86_400_000,
            5 => at("18:00").ms() - 86_400_000 - self.rng.below(2) as i64,
            6 => self.rng.below(1_000) as i64,
            _ => ms,
        };
        Timestamp::clamped(ms - ms.rem_euclid(self.quantum_ms))
    }

    fn rule(&mut self) {
        let code = *self.rng.pick(&["t", "u"]);
        let from = if self.rng.percent(20) { Effective::Start } else { Effective::At(self.time()) };
        let change = match self.rng.below(16) {
            0 | 1 => Change::Ticket(ticket_id(code), TicketChange::Status(*self.rng.pick(TicketStatus::ALL))),
            2 if !self.constant => Change::Ticket(ticket_id(code), TicketChange::EntryLimit(self.rng.below(6) as u32)),
            3 => Change::Ticket(ticket_id(code), TicketChange::GateIds(vec![gate(self.rng.one_of(GATES))])),
            4 => Change::Ticket(ticket_id(code), TicketChange::Zone("vip".into())),
            5 => {
                let (valid_from, expires_at) = (Some(self.time()), Some(self.time()));
                Change::Ticket(ticket_id(code), TicketChange::Window { valid_from, expires_at })
            }
            6 => Change::Gate(gate(self.rng.one_of(GATES)), GateChange::Zones(vec!["vip".into(), "general".into()])),
            7 => Change::Gate(gate(self.rng.one_of(GATES)), GateChange::Direction(*self.rng.pick(Direction::ALL))),
            8 => {
                let moved = at("18:00").plus_ms((self.rng.below(60) as i64 - 30) * 86_400_000);
                Change::Event(if self.rng.percent(50) {
                    EventChange::StartsAt(moved)
                } else {
                    EventChange::EndsAt(moved.plus_ms(8 * 3_600_000))
                })
            }
            9 if !self.constant => Change::Event(EventChange::ReEntry(*self.rng.pick(ReEntry::ALL))),
            10 if !self.constant => Change::Event(EventChange::MinGapSeconds(*self.rng.pick(&[0, 60, 300, 7_200]))),
            11 => Change::Event(EventChange::Status(*self.rng.pick(EventStatus::ALL))),
            12 => Change::Event(EventChange::OpenedAt(Some(self.time()).filter(|_| !self.rng.percent(20)))),
            13 if !self.constant => Change::Event(EventChange::Days(Days::new(vec![self.time(), self.time()]))),
            14 if !self.constant => {
                let limits = Limits {
                    re_entry: Some(*self.rng.pick(ReEntry::ALL)).filter(|_| self.rng.percent(40)),
                    per_gate: self.rng.percent(40),
                    uses: Some(self.rng.below(6) as u32).filter(|_| self.rng.percent(50)),
                };
                Change::Event(EventChange::Limits(ZoneLimits::new([("general".to_owned(), limits)].into())))
            }
            _ => {
                let since = Some(self.time()).filter(|_| !self.rng.percent(30));
                Change::Device(device(self.rng.one_of(DEVICES)), DeviceChange::LostSince(since))
            }
        };
        self.case.rule(from, change);
    }

    fn scan(&mut self, i: u64) {
        let author = self.rng.one_of(DEVICES);
        let code = if self.rng.percent(70) { "t" } else { *self.rng.pick(&CODES) };
        let id = format!("s{}", if self.rng.percent(5) { self.rng.below(3) } else { i });
        let time = self.time();
        let made = if self.rng.percent(18) { exit(author, &id, time, code) } else { entry(author, &id, time, code) };
        let made = self.dress(made);
        self.scans.push((author.into(), id, code.into()));
        if self.rng.percent(10) {
            // The phone asked the server first, and the claim may be all that ever arrives.
            let judged =
                self.rng.percent(80).then(|| (self.rng.below(self.case.serial + 1), *self.rng.pick(Outcome::ALL)));
            self.add(made.clone().claim(judged));
            if self.rng.percent(40) {
                return;
            }
        }
        self.add(made);
    }

    /// Staff add a guest at the door. Now and then other devices let the same guest out and in again.
    fn walk_in(&mut self, i: u64) {
        let (author, id, time) = (self.rng.one_of(DEVICES), format!("w{i}"), self.time());
        let party = 1 + self.rng.below(4) as u32;
        let zone = if self.rng.percent(80) { "general" } else { "vip" };
        let made = walk_in(author, &id, time, zone, party).count(1 + self.rng.below(u64::from(party)) as u32);
        let ticket = made.clone().build().scan.ticket_id.expect("a walk-in has a ticket");
        let made = match self.rng.below(20) {
            0 => made.unverified(),
            1 | 2 => made.practice(),
            3 => made.overridden(Outcome::Valid),
            _ => made,
        };
        let made = made.gate(self.rng.one_of(GATES));
        self.scans.push((author.into(), id, ticket.as_str().to_owned()));
        self.add(made);
        for n in 0..self.rng.below(3) {
            let (other, id, time) = (self.rng.one_of(DEVICES), format!("w{i}-{n}"), self.time());
            let out = self.rng.percent(50);
            let scan = if out { exit(other, &id, time, "-") } else { entry(other, &id, time, "-") };
            self.add(scan.picked(&ticket));
        }
        if self.rng.percent(40) {
            self.case.rule(Effective::Start, Change::Gate(gate("north"), GateChange::WalkIns(true)));
        }
        if self.rng.percent(30) {
            // The server stored the ticket that this scan made. Staff may have changed that ticket since.
            let rules = self.case.facts.iter().find_map(|fact| {
                fact.scan
                    .walk_in
                    .as_ref()
                    .filter(|_| fact.scan.ticket_id.as_ref() == Some(&ticket))
                    .map(|one| one.rules())
            });
            self.case.rules_of(&ticket, rules.expect("it is among the facts"));
        }
    }

    /// Staff count people who have no ticket. Now and then they undo the count or a part of it.
    fn headcount(&mut self, i: u64) {
        let (author, id, time) = (self.rng.one_of(DEVICES), format!("h{i}"), self.time());
        let counted = if self.rng.percent(25) {
            Headcount::Recount { inside: self.rng.below(500) as u32 }
        } else {
            let delta = (1 + self.rng.below(5) as i32) * if self.rng.percent(30) { -1 } else { 1 };
            Headcount::Change { class: *self.rng.pick(PersonClass::ALL), delta }
        };
        let made = headcount(author, &id, time, counted).gate(self.rng.one_of(GATES));
        let subject = made.clone().build().scan.ticket_id.expect("a headcount has a subject");
        let made = match self.rng.below(10) {
            0 => made.unverified(),
            1 => made.practice(),
            _ => made,
        };
        self.scans.push((author.into(), id.clone(), subject.as_str().to_owned()));
        self.add(made);
        if self.rng.percent(30) {
            let (time, keep) = (self.time(), self.rng.below(3) as u32);
            let undo = revert(author, &format!("h{i}-undo"), time, "-", (author, &id)).keep(keep);
            self.add(undo.picked(&subject));
        }
    }

    /// Draws every property of a scan that its kind does not determine.
    fn dress(&mut self, scan: Scanned) -> Scanned {
        let rng = &mut self.rng;
        let mut scan = scan.uncertainty(*rng.pick(&[0, 500, 5_000, 600_000]));
        if !rng.percent(60) {
            scan = scan.count(rng.below(6) as u32);
        }
        if rng.percent(30) {
            scan = scan.gate(rng.one_of(GATES));
        }
        let refused = *rng.pick(&[Outcome::Duplicate, Outcome::Duplicate, Outcome::Invalid, Outcome::Expired]);
        scan = match rng.below(100) {
            0..22 => scan.shut(refused),
            22..28 => scan.overridden(refused),
            28..31 => scan.shut(Outcome::Valid),
            _ => scan,
        };
        let known = rng.below(self.case.serial + 2);
        scan = match rng.below(10) {
            0 | 1 => scan.v1(rng.below(20) as i64 - 10),
            2 | 3 if scan.clone().build().scan.kind == ScanKind::Entry => scan.s2().count(1),
            4 => scan.knowing(known).practice(),
            _ => scan.knowing(known),
        };
        scan.with(|fact| {
            if rng.percent(6) {
                fact.signature = SignatureState::Unverified;
            }
            fact.withheld = rng.percent(3);
            fact.received_at = at("18:30").plus_ms(rng.below(9 * 3_600_000) as i64);
            if rng.percent(10) {
                (fact.scan.method, fact.scan.ticket_id) = (Method::Manual, Some(ticket_id("u")));
            }
            if fact.scan.epoch.is_some() && rng.percent(15) {
                fact.scan.epoch = *rng.pick(&[None, Some(NEXT_EPOCH), Some(Epoch { restored_at_ms: 9, random: 9 })]);
            }
            if fact.scan.epoch.is_some() && rng.percent(30) {
                fact.scan.cursor = rng.below(self.case.serial + 2);
                let within = rng.below(4) as u32;
                let status = Some(TicketStatus::Active);
                fact.scan.basis = Some(Basis { within, inside: within, spent: within, last_entry_at: None, status });
            }
        })
    }

    /// Reverts an earlier scan, a later one, or another revert. Now and then the code is wrong.
    fn revert(&mut self, i: u64) {
        let author = self.rng.one_of(DEVICES);
        let target = if self.scans.is_empty() || self.rng.percent(15) {
            (self.rng.pick(&DEVICES).to_string(), format!("s{}", self.rng.below(16)), "t".to_owned())
        } else {
            self.rng.pick(&self.scans).clone()
        };
        let code = if self.rng.percent(6) { "u" } else { target.2.as_str() };
        let id = format!("r{i}");
        let (keep, time) = (self.rng.below(3) as u32, self.time());
        let keep = if self.rng.percent(50) { 0 } else { keep };
        let made = revert(author, &id, time, code, (&target.0, &target.1)).keep(keep);
        let made = if target.1.starts_with('w') { made.picked(&ticket_id(&target.2)) } else { made };
        let unverified = self.rng.percent(6);
        self.scans.push((author.into(), id, code.into()));
        self.add(if unverified { made.unverified() } else { made });
    }

    /// Adds another content under the id of an earlier scan.
    fn variant(&mut self) {
        let Some(index) = self.any_fact() else { return };
        let mut fact = self.case.facts[index].clone();
        let rng = &mut self.rng;
        match rng.below(6) {
            0 => fact.scan.count = rng.below(6) as u32,
            1 => fact.scan.opened = !fact.scan.opened,
            2 => fact.scan.barcode_hash = Some(admit_core::barcode::BarcodeHash::of(rng.one_of(CODES))),
            3 => fact.scan.at = fact.scan.at.plus_ms(60_000),
            4 => fact.scan.outcome = *rng.pick(Outcome::ALL),
            _ => fact.scan.gate_id = gate(rng.one_of(GATES)),
        }
        if rng.percent(20) {
            fact.signature = SignatureState::Unverified;
        }
        self.case.facts.push(rebuild(fact));
    }

    /// Delivers the same content again, with other proof, clock offset or time of receipt.
    fn delivery(&mut self) {
        let Some(index) = self.any_fact() else { return };
        let mut fact = self.case.facts[index].clone();
        fact.signature = *self.rng.pick(SignatureState::ALL);
        fact.offset_seconds = self.rng.below(30) as i64 - 15;
        fact.withheld = self.rng.percent(50);
        fact.received_at = at("18:30").plus_ms(self.rng.below(9 * 3_600_000) as i64);
        self.case.facts.push(fact);
    }

    fn review(&mut self) {
        let Some(index) = self.any_fact() else { return };
        let scan = self.case.facts[index].scan.clone();
        let decision = *self.rng.pick(Decision::ALL);
        self.case = self.case.clone().review(scan.device_id.as_str(), scan.scan_id.as_str(), decision);
    }

    fn any_fact(&mut self) -> Option<usize> {
        let n = self.case.facts.len() as u64;
        (n > 0).then(|| self.rng.below(n) as usize)
    }

    fn add(&mut self, scan: Scanned) {
        self.case.facts.push(scan.build());
    }
}

/// The fact with its digest computed anew from its content.
pub fn rebuild(fact: Fact) -> Fact {
    Scanned::from(fact).build()
}
