//! A test server: only the sets of facts and `reduce`. It has no store and no roles, and one event.

// The path is written out because the fuzz targets include this file from another folder.
#[path = "server/names.rs"]
mod names;

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::decide::{Question, decide};
use admit_core::event::{Days, EventRules, EventStatus, ReEntry, StaffPin, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::ids::{BatchId, DeviceId, EventId, GateId, KeyId, OrganizationId, TicketId};
use admit_core::incident::Subject;
use admit_core::manifest::build::{Code, Input, envelope, large_part};
use admit_core::reduce::{Reduced, Resolved, Rules, TicketState, Visit, reduce};
use admit_core::rule::{
    Change, Effective, Epoch, Epochs, EventBook, EventChange, GateChange, Rule, TicketBook, TicketChange, When,
};
use admit_core::scan::{Digest, Fact, Headcount, Judged, Scan, ScanKind, SignatureState, Stage};
use admit_core::sign::{ApiKey, content_digest, pin_hash, verify_v2};
use admit_core::ticket::{Group, TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use admit_core::wire::manifest::{GuestName, ManifestTail};
use admit_core::wire::scanning::*;
use admit_core::wire::scans::{OnlineAnswer, OnlineRequest};

use super::phone::{EVENING, Sent};
pub use super::reply::Reply;

/// A scan that the server stored, with its result.
#[derive(Debug, Clone)]
pub struct Stored {
    pub fact: Fact,
    pub serial: u64,
}

pub struct Server {
    pub organization_id: OrganizationId,
    pub event_id: EventId,
    pub gate_id: GateId,
    pub rules: Vec<Rule>,
    pub codes: BTreeMap<BarcodeHash, TicketId>,
    pub epoch: Epoch,
    pub epochs: Vec<(Epoch, u64)>,
    pub serial: u64,
    pub version: u64,
    pub keys: BTreeMap<String, (DeviceId, KeyId)>,
    pub stored: Vec<Stored>,
    pub answers: BTreeMap<BatchId, Reply>,
    /// The serial of each ticket's last change.
    pub changed: BTreeMap<TicketId, u64>,
    pub revoked: bool,
    pub suspended: bool,
    /// Persons whom other devices let in behind the gate. Heartbeats tell the sum of these and those of the stored
    /// scans.
    pub others_inside: Option<u32>,
    /// When an organiser last looked for the device.
    pub rung_at: Option<Timestamp>,
    /// The questions asked before a door opened, with their answers.
    pub judged: BTreeMap<Digest, Reply>,
    /// Whether the server answers only for its own event.
    pub one_event: bool,
    /// Guests' names, each with the serial of its last change.
    pub names: BTreeMap<TicketId, (GuestName, u64)>,
    pub groups: BTreeMap<TicketId, Group>,
    /// The fields of guests.
    fields: BTreeMap<TicketId, BTreeMap<String, String>>,
    pairings: u64,
}

pub fn ticket(limit: u32) -> TicketRules {
    TicketRules {
        status: TicketStatus::Active,
        entry_limit: limit,
        gate_ids: Vec::new(),
        zone: "general".into(),
        valid_from: None,
        expires_at: None,
    }
}

impl Server {
    /// A server with an event of one evening and staff PIN 4711. Its gates are `north` (in), `east` (VIP only), `exit`
    /// (out) and `both`. Its tickets are twenty singles `A-1`…`A-20`, a party of four `P-4`, a voided `V-1`, a `VIP-1`
    /// of the VIP gate, and `OLD-1`, which expires at eight.
    pub fn new() -> Self {
        let mut server = Self {
            organization_id: OrganizationId::new("org").unwrap(),
            event_id: EventId::new("event").unwrap(),
            gate_id: GateId::new("north").unwrap(),
            rules: Vec::new(),
            codes: BTreeMap::new(),
            epoch: Epoch { restored_at_ms: 1, random: 1 },
            epochs: vec![(Epoch { restored_at_ms: 1, random: 1 }, 0)],
            serial: 0,
            version: 0,
            keys: BTreeMap::new(),
            stored: Vec::new(),
            answers: BTreeMap::new(),
            changed: BTreeMap::new(),
            revoked: false,
            suspended: false,
            others_inside: None,
            rung_at: None,
            judged: BTreeMap::new(),
            one_event: false,
            names: BTreeMap::new(),
            groups: BTreeMap::new(),
            fields: BTreeMap::new(),
            pairings: 0,
        };
        server.first(Change::Event(EventChange::First(EventRules {
            name: "Spring Gala".into(),
            starts_at: Timestamp::clamped(EVENING - 3_600_000),
            ends_at: Timestamp::clamped(EVENING + 6 * 3_600_000),
            status: EventStatus::Live,
            re_entry: ReEntry::Never,
            min_gap_seconds: 300,
            staff_pin: Some(StaffPin { salt: [7; 16], hash: pin_hash("4711", &[7; 16], 2), iterations: 2 }),
            opened_at: None,
            days: Days::default(),
            limits: ZoneLimits::default(),
            walk_ins: None,
        })));
        for (id, zones, direction) in [
            ("north", vec!["general", "vip"], Direction::In),
            ("east", vec!["vip"], Direction::In),
            ("exit", vec!["general", "vip"], Direction::Out),
            ("both", vec!["general", "vip"], Direction::Both),
        ] {
            let rules = GateRules {
                name: format!("Gate {id}"),
                zones: zones.into_iter().map(str::to_owned).collect(),
                direction,
                capacity: None,
                names_on_devices: false,
                walk_ins: false,
                entry_rules: EntryRule::ALL.to_vec(),
            };
            server.first(Change::Gate(GateId::new(id).unwrap(), GateChange::First(rules)));
        }
        for n in 1..=20 {
            server.add_ticket(&format!("A-{n}"), ticket(1));
        }
        server.add_ticket("P-4", ticket(4));
        server.add_ticket("V-1", TicketRules { status: TicketStatus::Voided, ..ticket(1) });
        server.add_ticket("VIP-1", TicketRules { gate_ids: vec![GateId::new("east").unwrap()], ..ticket(1) });
        server.add_ticket("OLD-1", TicketRules { expires_at: Some(Timestamp::clamped(EVENING - 1_000)), ..ticket(1) });
        server
    }

    pub fn first(&mut self, change: Change) {
        self.rule(change, Effective::Start);
    }
    pub fn rule(&mut self, change: Change, effective_at: Effective) {
        self.serial += 1;
        self.version = self.serial;
        if let Change::Ticket(id, _) = &change {
            self.changed.insert(id.clone(), self.serial);
        }
        self.rules.push(Rule { serial: self.serial, ordinal: 0, effective_at, change });
    }
    /// Adds a ticket. Its id is `t-` and the code.
    pub fn add_ticket(&mut self, code: &str, rules: TicketRules) {
        let id = TicketId::new(format!("t-{code}")).unwrap();
        self.codes.insert(BarcodeHash::of(code), id.clone());
        self.first(Change::Ticket(id, TicketChange::First(rules)));
    }
    pub fn change_ticket(&mut self, code: &str, change: TicketChange, at_ms: i64) {
        let id = self.codes[&BarcodeHash::of(code)].clone();
        self.rule(Change::Ticket(id, change), Effective::At(Timestamp::clamped(at_ms)));
    }
    /// Sets whether devices at a gate may carry names.
    pub fn allow_names(&mut self, gate_id: &str, allowed: bool) {
        let change = GateChange::NamesOnDevices(allowed);
        self.rule(Change::Gate(GateId::new(gate_id).unwrap(), change), Effective::Start);
    }
    pub fn change_event(&mut self, change: EventChange, at_ms: i64) {
        self.rule(Change::Event(change), Effective::At(Timestamp::clamped(at_ms)));
    }
    pub fn re_entry(&mut self, mode: ReEntry) {
        self.first(Change::Event(EventChange::ReEntry(mode)));
    }
    /// Puts the ledger back to an older state. A new epoch begins.
    pub fn roll_back(&mut self, serial: u64) {
        self.stored.retain(|stored| stored.serial <= serial);
        self.answers.clear();
        self.serial = serial.max(self.version);
        self.epoch = Epoch { restored_at_ms: self.epoch.restored_at_ms + 1_000, random: 9 };
        self.epochs.push((self.epoch, self.serial));
    }

    pub fn pairing_link(&mut self) -> String {
        format!("https://tickets.example/scan/#pair=pairing-token-{}", self.pairings)
    }

    pub fn book(&self) -> EventBook {
        EventBook::new(&self.rules, Epochs::new(self.epochs.clone()))
    }
    pub fn ticket_book(&self, id: &TicketId) -> TicketBook {
        let mut book = TicketBook::default();
        for rule in &self.rules {
            if let Change::Ticket(of, change) = &rule.change
                && of == id
            {
                book.add(rule, change);
            }
        }
        book
    }
    fn subject(&self, scan: &Scan) -> Subject {
        let held = scan.barcode_hash.and_then(|hash| self.codes.get(&hash));
        match held.or(scan.ticket_id.as_ref()) {
            Some(id) => Subject::Ticket(id.clone()),
            None => Subject::Unknown(scan.barcode_hash.unwrap_or(BarcodeHash([0; 32]))),
        }
    }
    pub fn facts(&self, id: &TicketId) -> Vec<Resolved> {
        let subject = Subject::Ticket(id.clone());
        let all = self.stored.iter().map(|stored| (self.subject(&stored.fact.scan), stored.fact.clone()));
        all.filter(|(of, _)| *of == subject).collect()
    }
    pub fn reduced(&self, id: &TicketId, newest: bool) -> Reduced {
        let (event, ticket) = (self.book(), self.ticket_book(id));
        let ticket = Some(&ticket).filter(|ticket| ticket.get(When::Newest).is_some());
        let rules = Rules { event: &event, ticket, newest };
        reduce(&Subject::Ticket(id.clone()), rules, &[], &self.facts(id))
    }
    pub fn reduced_code(&self, code: &str) -> Reduced {
        self.reduced(&self.codes[&BarcodeHash::of(code)], false)
    }
    /// The ids of stored scans, each once.
    pub fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.stored.iter().map(|stored| stored.fact.scan.scan_id.to_string()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// The answer to a request. `None` for a long poll without news.
    pub fn answer(&mut self, sent: &Sent, at_ms: i64) -> Option<Reply> {
        assert_eq!(sent.method, if sent.body.is_some() { "POST" } else { "GET" }, "{}", sent.path);
        let key =
            sent.headers.get("authorization").and_then(|bearer| bearer.strip_prefix("Bearer ")).map(str::to_owned);
        let reply = if sent.is("/api/scanning/pairing") {
            Reply::problem(404, "not_found") // Nobody approves phones here.
        } else if sent.is("/api/scanning/pair") {
            self.pair(sent)
        } else {
            let Some((device, _)) = key.as_ref().and_then(|key| self.keys.get(key)).cloned() else {
                return Some(Reply::problem(401, "unknown_key"));
            };
            let key = key.unwrap();
            if sent.is("/api/scanning/time") {
                let now = Timestamp::clamped(at_ms);
                Reply::json(200, &TimeAnswer { received_at_ms: at_ms, sent_at_ms: at_ms, server_time: now })
            } else if sent.is("/api/scanning/sync") {
                self.sync(sent, &device, at_ms)
            } else if sent.is("/api/scans") {
                self.judge(sent, &device, at_ms)
            } else if sent.is("/api/scanning/log-status") {
                self.status(sent, &device)
            } else if sent.path.contains("/heartbeat") {
                self.heard(sent, at_ms)
            } else if sent.path.contains("/manifest") {
                self.manifest(&key, at_ms)
            } else if sent.path.contains("/names") {
                self.guests(sent, &key, at_ms)
            } else if sent.path.contains("/changes") {
                self.changes(sent, at_ms)?
            } else {
                Reply::problem(404, "not_found")
            }
        };
        Some(reply.with(WITNESS_HEADER, self.witness()))
    }

    pub fn witness(&self) -> Witness {
        Witness::new(b"secret", self.epoch, &self.event_id, self.serial, [1; 32])
    }
    fn pair(&mut self, sent: &Sent) -> Reply {
        let request: PairRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        self.pairings += 1;
        let mut random = [0; 32];
        random[..8].copy_from_slice(&self.pairings.to_be_bytes());
        let key = ApiKey::from_random(random);
        let key_id = KeyId::new(format!("key-{}", self.pairings)).unwrap();
        self.keys.insert(key.as_str().to_owned(), (request.device_id.clone(), key_id.clone()));
        Reply::json(
            200,
            &PairAnswer {
                name: None,
                device_id: request.device_id,
                api_key: key.as_str().to_owned(),
                key_id,
                organization_id: self.organization_id.clone(),
                event_id: self.event_id.clone(),
                gate_id: self.gate_id.clone(),
                epoch: self.epoch,
            },
        )
    }
    /// Answers a heartbeat, which may say that staff moved the device.
    fn heard(&mut self, sent: &Sent, at_ms: i64) -> Reply {
        let told: HeartbeatRequest = serde_json::from_str(sent.body.as_deref().unwrap()).unwrap();
        let known = |gate_id: &GateId| self.book().gate(gate_id, When::Newest).is_some();
        if let Some(gate_id) = told.gate_id.filter(known) {
            self.gate_id = gate_id;
        }
        Reply::json(200, &self.beat(at_ms))
    }
    fn beat(&self, at_ms: i64) -> HeartbeatAnswer {
        HeartbeatAnswer {
            server_time: Timestamp::clamped(at_ms),
            event_id: self.event_id.clone(),
            gate_id: self.gate_id.clone(),
            manifest_version: self.version,
            cursor: Cursor::at(self.epoch, self.serial),
            suspended: self.suspended,
            area_inside: self.others_inside.map(|others| others.saturating_add_signed(self.went_in())),
            walk_ins: Some(self.walk_ins()),
            rung_at: self.rung_at,
        }
    }
    /// How many persons staff added at the doors.
    fn walk_ins(&self) -> u32 {
        self.stored.iter().map(|it| &it.fact.scan).filter(|scan| scan.walk_in.is_some()).map(|scan| scan.count).sum()
    }
    /// Persons of the stored scans who went in, less those who went out.
    fn went_in(&self) -> i32 {
        let scans = self.stored.iter().map(|it| &it.fact.scan);
        let opened = scans.filter(|scan| scan.opened && scan.stage == Stage::Final);
        let moved = |scan: &Scan| match (scan.kind, scan.headcount) {
            (_, Some(Headcount::Change { delta, .. })) => delta,
            (_, Some(Headcount::Recount { .. })) => 0,
            (ScanKind::Exit, None) => -(scan.count as i32),
            (_, None) => scan.count as i32,
        };
        opened.map(moved).sum()
    }

    pub fn manifest(&self, key: &str, at_ms: i64) -> Reply {
        let (book, newest) = (self.book(), When::Newest);
        let event = book.event(newest).unwrap();
        let gates: Vec<(GateId, GateRules)> =
            book.gate_ids().map(|id| (id.clone(), book.gate(id, newest).unwrap())).collect();
        let rules: BTreeMap<&TicketId, TicketRules> =
            self.codes.values().map(|id| (id, self.ticket_book(id).get(newest).unwrap())).collect();
        let codes: Vec<Code<'_>> = self
            .codes
            .iter()
            .map(|(hash, id)| Code {
                hash: *hash,
                ticket_id: id,
                rules: &rules[id],
                group: self.groups.get(id).copied(),
            })
            .collect();
        let large = large_part(&Input {
            organization_id: &self.organization_id,
            event_id: &self.event_id,
            event: &event,
            door: &book.door(),
            version: self.version,
            gates: &gates,
            codes: &codes,
        });
        let tail = ManifestTail {
            generated_at: Timestamp::clamped(at_ms),
            expires_at: event.ends_at.plus_ms(6 * 3_600_000),
            offset_seconds: 0,
            epoch: self.epoch,
            serial: self.serial,
        };
        let (body, signature) = envelope(&large.unwrap().bytes, &tail, key);
        Reply { status: 200, headers: Vec::new(), body }.with(SIGNATURE_HEADER, signature)
    }

    fn changes(&self, sent: &Sent, at_ms: i64) -> Option<Reply> {
        let query = sent.path.split_once('?').map_or("", |(_, query)| query);
        let param = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let cursor: Option<Cursor> = param("cursor").map(|text| text.parse().unwrap());
        let version: u64 = param("manifest_version").map_or(0, |text| text.parse().unwrap());
        let mut answer = ChangesAnswer {
            items: Vec::new(),
            event: None,
            gates: None,
            devices: Vec::new(),
            manifest_version: self.version,
            cursor: Cursor::at(self.epoch, 0),
            more: false,
            resync: false,
            server_time: Timestamp::clamped(at_ms),
        };
        let from = cursor.as_ref().map_or(0, |cursor| cursor.serial);
        if cursor.as_ref().is_some_and(|cursor| cursor.epoch != self.epoch) {
            answer.resync = true;
            return Some(Reply::json(200, &answer));
        }
        if from == self.serial && param("wait").is_some() {
            return None;
        }
        for (id, serial) in &self.changed {
            let by_rule = self.rules.iter().any(|rule| {
                rule.serial > from.max(version) && matches!(&rule.change, Change::Ticket(of, _) if of == id)
            });
            let by_scan = *serial > from
                && self
                    .stored
                    .iter()
                    .any(|it| it.serial > from && self.subject(&it.fact.scan) == Subject::Ticket(id.clone()));
            let rules = self.ticket_book(id).get(When::Newest);
            if let Some(rules) = rules.filter(|_| by_rule || by_scan) {
                let reduced = self.reduced(id, false);
                answer.items.push(ChangedTicket {
                    ticket_id: id.clone(),
                    rules,
                    barcode_hashes: self.codes.iter().filter(|(_, of)| *of == id).map(|(hash, _)| *hash).collect(),
                    prefix: Default::default(),
                    scans: reduced.effective,
                });
            }
        }
        answer.cursor.serial = self.serial;
        Some(Reply::json(200, &answer))
    }

    /// Stores a batch. A repeated batch gets its stored answer again.
    pub fn sync(&mut self, sent: &Sent, device: &DeviceId, at_ms: i64) -> Reply {
        let request: SyncRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        assert_eq!(request.device_id, *device);
        if let Some(reply) = self.answers.get(&request.sync_batch_id) {
            return reply.clone();
        }
        let scans: Vec<(Scan, String)> = request.scans.iter().map(|raw| ScanV2::read(raw.get()).unwrap()).collect();
        assert!(scans.windows(2).all(|pair| pair[0].0.event_id == pair[1].0.event_id), "a batch holds one event");
        if self.one_event && scans.iter().any(|(scan, _)| scan.event_id != self.event_id) {
            return Reply::problem(404, "not_found");
        }
        let mut processed = Vec::new();
        self.serial += 1;
        for (scan, signature) in scans {
            let key =
                self.keys.iter().find(|(_, (_, id))| Some(id) == scan.key_id.as_ref()).map(|(key, _)| key.clone());
            let key = ApiKey::parse(&key.expect("a known key")).unwrap();
            assert!(verify_v2(&key.scan_key(), &scan, &signature), "every scan is signed");
            if let Subject::Ticket(id) = self.subject(&scan) {
                self.changed.insert(id, self.serial);
            }
            processed.push(scan.scan_id.clone());
            self.store(scan, at_ms);
        }
        if self.revoked {
            let details = RevokedDetails { kept: processed, rejected: Vec::new(), quota_left: 20_000 };
            return Reply::problem_with(403, "device_revoked", serde_json::to_value(details).unwrap());
        }
        let answer = SyncAnswer {
            batch_id: request.sync_batch_id.clone(),
            processed,
            skipped: Vec::new(),
            rejected: Vec::new(),
            conflicts: Vec::new(),
            cursor: Cursor::at(self.epoch, self.serial),
            server_time: Timestamp::clamped(at_ms),
        };
        let reply = Reply::json(200, &answer);
        self.answers.insert(request.sync_batch_id, reply.clone());
        reply
    }
    /// Judges a claim by the newest rules and all other scans, and stores it with the answer. A repeated question gets
    /// the same answer.
    pub fn judge(&mut self, sent: &Sent, device: &DeviceId, at_ms: i64) -> Reply {
        if self.revoked {
            let details = RevokedDetails { kept: Vec::new(), rejected: Vec::new(), quota_left: 20_000 };
            return Reply::problem_with(403, "device_revoked", serde_json::to_value(details).unwrap());
        }
        let request = OnlineRequest::read(sent.body.as_ref().unwrap().as_bytes()).unwrap();
        let OnlineRequest::Claim(claim) = request else { panic!("our phones ask by claims") };
        let (scan, signature) = (claim.0, claim.1.signature.unwrap_or_default());
        assert_eq!(scan.device_id, *device);
        let key = self.keys.iter().find(|(_, (_, id))| Some(id) == scan.key_id.as_ref()).expect("a known key").0;
        assert!(verify_v2(&ApiKey::parse(key).unwrap().scan_key(), &scan, &signature), "every claim is signed");
        let digest = content_digest(&scan);
        if let Some(reply) = self.judged.get(&digest) {
            return reply.clone();
        }
        let ticket_id = match self.subject(&scan) {
            Subject::Ticket(ticket_id) => Some(ticket_id),
            Subject::Unknown(_) => None,
        };
        let (newest, book, knew) = (When::Newest, self.book(), (scan.epoch, scan.known_serial()));
        let (event, gate) = (book.event_at_door(scan.at, knew).unwrap(), book.gate(&scan.gate_id, newest));
        let (state, rules) = ticket_id.as_ref().map_or((TicketState::default(), None), |id| {
            (self.reduced(id, true).state, self.ticket_book(id).get(newest))
        });
        let visit = Visit { event: &event, zone: rules.as_ref().map(|one| one.zone.as_str()), gate_id: &scan.gate_id };
        let verdict = decide(Question {
            event: &event,
            ticket: rules.as_ref(),
            standing: &state.standing(&visit, scan.at, false),
            gate_id: &scan.gate_id,
            gate: gate.as_ref(),
            at: scan.at,
            kind: scan.kind,
            area_inside: 0,
        });
        self.serial += 1;
        if let Some(id) = &ticket_id {
            self.changed.insert(id.clone(), self.serial);
        }
        let scan_id = scan.scan_id.clone();
        self.store(scan, at_ms);
        let head = self.serial - 1;
        if let Some(stored) = self.stored.iter_mut().find(|stored| stored.fact.digest == digest) {
            stored.fact.judged = Some(Judged { serial: head, outcome: verdict.outcome });
        }
        let last = state.entries.last();
        let reply = Reply::json(
            200,
            &OnlineAnswer {
                scan_id,
                ticket_id,
                outcome: verdict.outcome,
                reason: verdict.reason,
                may_admit: verdict.may_admit,
                last_scan_at: last.map(|entry| entry.at),
                last_gate_id: last.map(|entry| entry.gate_id.clone()),
                cursor: Cursor::at(self.epoch, self.serial),
                server_time: Timestamp::clamped(at_ms),
            },
        );
        self.judged.insert(digest, reply.clone());
        reply
    }
    /// Stores a scan once.
    pub fn store(&mut self, scan: Scan, at_ms: i64) {
        let digest = content_digest(&scan);
        if self.stored.iter().any(|stored| stored.fact.digest == digest) {
            return;
        }
        // From this scan on, a guest added at the door has a ticket. A practice scan makes none.
        let made = scan.ticket_id.clone().zip(scan.walk_in.clone()).filter(|_| !scan.practice);
        if let Some((ticket_id, walk_in)) = made {
            self.first(Change::Ticket(ticket_id, TicketChange::First(walk_in.rules())));
        }
        let fact = Fact {
            scan,
            digest,
            signature: SignatureState::Verified,
            withheld: self.revoked,
            offset_seconds: 0,
            received_at: Timestamp::clamped(at_ms),
            judged: None,
        };
        self.stored.push(Stored { fact, serial: self.serial });
    }
    fn status(&self, sent: &Sent, device: &DeviceId) -> Reply {
        let request: LogStatusRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        let have = |seq: u64| {
            self.stored.iter().any(|stored| {
                let scan = &stored.fact.scan;
                scan.device_id == *device && scan.log_id == Some(request.log_id.clone()) && scan.seq == Some(seq)
            })
        };
        let missing = (1..=request.head).filter(|seq| !have(*seq)).map(|seq| (seq, seq)).collect();
        Reply::json(200, &LogStatusAnswer { missing })
    }
}
