//! A small test world: a store in place, a clock and a random source of its own, an organisation with a live event, and
//! phones.

use std::future::Future;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use admit_app::caller::{DeviceCaller, UserCaller};
use admit_app::devices::PairCommand;
use admit_app::error::Error;
use admit_app::events::NewEvent;
use admit_app::gates::NewGate;
use admit_app::members::NewMember;
use admit_app::organizations::NewOrganization;
use admit_app::ports::{App, Clock, Hint, Hints, Ids, read};
use admit_app::records::*;
use admit_app::secret::Secret;
use admit_app::tickets::NewTicket;
use admit_app::{audits, devices, events, gates, incidents, members, organizations, pairing_tokens, scans, tickets};
use admit_core::barcode::BarcodeHash;
use admit_core::event::EventStatus;
use admit_core::gate::Direction;
use admit_core::ids::*;
use admit_core::occupancy::Occupancy;
use admit_core::sign::{V1Fields, hmac_sha256, sign_v1, token_hash};
use admit_core::time::Timestamp;
use admit_store_sqlite::{CommitFault, StatementFault};
use futures_util::FutureExt as _;

use crate::home::{Home, Hooks};

pub const HOUR: i64 = 3_600_000;
/// The time at which every world begins: 2026-06-07T18:00:00Z.
pub const BEGIN: i64 = 1_780_855_200_000;

struct TestClock(Arc<AtomicI64>);
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::clamped(self.0.load(Ordering::SeqCst))
    }
    fn monotonic_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Default)]
struct TestIds(AtomicU64);
impl Ids for TestIds {
    fn random(&self) -> [u8; 32] {
        hmac_sha256(b"dice", &self.0.fetch_add(1, Ordering::SeqCst).to_be_bytes())
    }
}

#[derive(Default)]
pub struct Heard(Mutex<Vec<Hint>>);
impl Hints for Heard {
    fn hint(&self, hint: Hint) {
        self.0.lock().unwrap().push(hint);
    }
}
impl Heard {
    pub fn take(&self) -> Vec<Hint> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The test world and its first organisation.
pub struct World {
    pub app: App,
    pub owner: UserCaller,
    pub event: EventId,
    pub heard: Arc<Heard>,
    /// The store itself, for crashes and for copies of it.
    pub store: Home,
    /// Number of statements until the process dies. A negative number means that it lives.
    pub dies_in: Arc<AtomicI64>,
    clock: Arc<AtomicI64>,
}

/// Runs a future that is ready at once, since the store runs in place.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("an inline store is always ready")
}

/// The first field that an error names.
pub fn wrong_field<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result.unwrap_err() {
        Error::Invalid { errors, .. } => errors[0].path.clone(),
        other => panic!("not a wrong field: {other}"),
    }
}

/// The code of an error.
pub fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result.unwrap_err() {
        Error::Invalid { code, .. }
        | Error::Unauthenticated { code, .. }
        | Error::Denied { code, .. }
        | Error::Gone { code, .. }
        | Error::Conflict { code, .. }
        | Error::Unprocessable { code, .. }
        | Error::Later { code, .. } => code.to_owned(),
        Error::NotFound { what } => format!("no {what}"),
        Error::Bug(text) => panic!("{text}"),
    }
}

pub fn gate(slug: &str) -> GateId {
    GateId::new(slug).unwrap()
}

pub fn whole_page() -> Page {
    Page { limit: 500, cursor: None }
}

pub fn at(ms: i64) -> Timestamp {
    Timestamp::clamped(BEGIN + ms)
}

pub fn new_event(name: &str) -> NewEvent {
    NewEvent {
        name: name.into(),
        venue: "Harbour".into(),
        time_zone: "Europe/Lisbon".into(),
        starts_at: at(-2 * HOUR),
        ends_at: at(10 * HOUR),
        status: Some(EventStatus::Live),
        re_entry: None,
        min_gap_seconds: None,
        day_starts_at: None,
        staff_pin: None,
        capacity: None,
        retention_days: None,
        walk_ins: None,
        at_door: Default::default(),
        gates: Some(Vec::new()),
    }
}

pub fn new_gate(slug: &str, direction: Direction, zones: &[&str]) -> NewGate {
    NewGate {
        gate_id: gate(slug),
        name: None,
        zones: Some(zones.iter().map(|zone| (*zone).to_owned()).collect()),
        direction: Some(direction),
        capacity: None,
        names_on_devices: None,
        walk_ins: None,
        entry_rules: None,
    }
}

pub fn coded(code: &str) -> NewTicket {
    NewTicket { barcode: Some(code.into()), ..NewTicket::default() }
}

impl World {
    /// A world with an organisation, a live event, and the gates `main` (in) and `out` (out).
    pub fn new() -> Self {
        Self::with_commits(|| CommitFault::Proceed)
    }
    /// Like [`World::new`]. `commits` decides before each commit whether the commit fails.
    pub fn with_commits(commits: impl Fn() -> CommitFault + Send + Sync + 'static) -> Self {
        let clock = Arc::new(AtomicI64::new(BEGIN));
        let ticking = clock.clone();
        let dies_in = Arc::new(AtomicI64::new(-1));
        let left = dies_in.clone();
        let crash = move |_: &'static str| match left.load(Ordering::SeqCst) {
            0 => StatementFault::Crash,
            _ => {
                left.fetch_sub(1, Ordering::SeqCst);
                StatementFault::Proceed
            }
        };
        let store = Home::new(Hooks {
            before_statement: Arc::new(crash),
            before_commit: Arc::new(commits),
            clock: Arc::new(move || ticking.load(Ordering::SeqCst)),
        });
        let heard = Arc::new(Heard::default());
        let secret = Secret::new(&"s".repeat(40)).unwrap();
        let ids = Arc::new(TestIds::default());
        let app = App::new(store.store(), Arc::new(TestClock(clock.clone())), ids, heard.clone(), secret);
        let (owner, event) = organization(&app, "home");
        Self { app, owner, event, heard, store, dies_in, clock }
    }
    /// Moves the world's clock on by `ms` milliseconds.
    pub fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }
    /// Creates another organisation with the same names inside.
    pub fn other(&self) -> (UserCaller, EventId) {
        organization(&self.app, "other")
    }
    /// Creates a member with this role.
    pub fn member(&self, role: Role) -> UserCaller {
        let new = NewMember {
            email: format!("{role}@staff.example"),
            name: "M".into(),
            password: "long enough".into(),
            role,
        };
        let made = now(members::create(&self.app, &self.owner, new)).unwrap();
        UserCaller {
            organization_id: self.owner.organization_id.clone(),
            user_id: made.user_id,
            role,
            token_ends_at: None,
        }
    }
    /// Creates tickets with these codes, for one person each.
    pub fn tickets(&self, codes: &[&str]) -> Vec<TicketId> {
        let new = codes.iter().map(|code| coded(code)).collect();
        let made = now(tickets::create(&self.app, &self.owner, self.event.clone(), new)).unwrap();
        made.into_iter().map(|(ticket, _)| ticket.ticket_id).collect()
    }
    pub fn ticket(&self, id: &TicketId) -> tickets::Listing {
        now(tickets::show(&self.app, &self.owner, id.clone())).unwrap()
    }
    /// Pairs a device with a gate.
    pub fn phone(&self, name: &str, at: &str) -> Phone<'_> {
        let token = now(pairing_tokens::create(&self.app, &self.owner, self.event.clone(), gate(at), None)).unwrap();
        let command = PairCommand {
            pairing_token: token.pairing_token,
            device_id: DeviceId::new(name).unwrap(),
            name: Some(name.into()),
            device_type: None,
            api_key: None,
        };
        let paired = now(devices::pair(&self.app, command)).unwrap();
        let caller = DeviceCaller {
            organization_id: paired.organization_id,
            device_id: paired.device_id,
            token_hash: token_hash(&paired.api_key),
            api_key: paired.api_key,
        };
        Phone { world: self, caller, gate: gate(at) }
    }
    pub fn occupancy(&self) -> Occupancy {
        let event = self.event.clone();
        now(read(&*self.app.store, &self.owner.organization_id, move |tx| tx.occupancy(&event))).unwrap()
    }
    /// The kinds of open incidents.
    pub fn open(&self) -> Vec<String> {
        let open = Some(IncidentStatus::Open);
        let page = now(incidents::list(&self.app, &self.owner, self.event.clone(), open, whole_page())).unwrap();
        let mut kinds: Vec<String> = page.items.iter().map(|one| one.incident.kind.to_string()).collect();
        kinds.sort();
        kinds
    }
    pub fn incident(&self, kind: &str) -> IncidentRecord {
        let page = now(incidents::list(&self.app, &self.owner, self.event.clone(), None, whole_page())).unwrap();
        page.items.into_iter().map(|one| one.incident).find(|one| one.kind.as_str() == kind).unwrap()
    }
    /// The actions of the event's ledger, oldest first.
    pub fn ledger(&self) -> Vec<String> {
        let page = now(audits::list(&self.app, &self.owner, Some(self.event.clone()), None, whole_page())).unwrap();
        page.items.into_iter().rev().map(|line| line.line.action).collect()
    }
    /// Asserts that every derived row is what `reduce` computes from the stored facts (I7), and that each change has
    /// one line (I19).
    pub fn is_consistent(&self) {
        let found = now(scans::rebuild::check(&self.app, &self.owner.organization_id, &self.event)).unwrap();
        assert_eq!(found.lines, Vec::<String>::new());
        let page = now(audits::list(&self.app, &self.owner, Some(self.event.clone()), None, whole_page())).unwrap();
        let event = self.event.clone();
        let head = now(read(&*self.app.store, &self.owner.organization_id, move |tx| tx.head(&event))).unwrap();
        let serials: Vec<u64> = page.items.iter().rev().map(|line| line.serial).collect();
        assert_eq!(serials, (1..=head.serial).collect::<Vec<_>>(), "one line a change: {:?}", self.ledger());
    }
}

fn organization(app: &App, name: &str) -> (UserCaller, EventId) {
    let new = NewOrganization {
        name: name.into(),
        email: format!("owner@{name}.example"),
        owner_name: "Owner".into(),
        password: "correct horse battery".into(),
    };
    let owner = now(organizations::create(app, new)).unwrap();
    let event = now(events::create(app, &owner, new_event("Festival"))).unwrap().event_id;
    for (slug, direction) in [("main", Direction::In), ("out", Direction::Out)] {
        now(gates::create(app, &owner, event.clone(), new_gate(slug, direction, &["general"]))).unwrap();
    }
    (owner, event)
}

/// A device that uploads signed scans in S1's form.
pub struct Phone<'a> {
    world: &'a World,
    pub caller: DeviceCaller,
    gate: GateId,
}

impl Phone<'_> {
    /// Uploads one scan under a new batch id. At an `out` gate it is an exit.
    pub fn scan(&self, scan_id: &str, barcode: &str, outcome: &str, at: Timestamp) {
        self.upload(&format!("batch-{scan_id}"), scan_id, barcode, outcome, at).unwrap();
    }
    pub fn upload(
        &self,
        batch_id: &str,
        scan_id: &str,
        barcode: &str,
        outcome: &str,
        at: Timestamp,
    ) -> Result<scans::IngestAnswer, Error> {
        let (hash, scanned_at) = (BarcodeHash::of(barcode).to_string(), at.to_string());
        let fields = V1Fields {
            scan_id,
            ticket_id: None,
            barcode_hash: &hash,
            scanned_at: &scanned_at,
            gate_id: self.gate.as_str(),
        };
        let body = serde_json::json!({
            "device_id": self.caller.device_id,
            "sync_batch_id": batch_id,
            "offset_seconds": 0,
            "scans": [{
                "scan_id": scan_id, "ticket_id": null, "barcode_hash": hash, "scanned_at": scanned_at,
                "gate_id": self.gate, "outcome": outcome, "signature": sign_v1(&self.caller.api_key, &fields),
            }],
        });
        let request = serde_json::from_str(&body.to_string()).unwrap();
        now(scans::ingest_batch(&self.world.app, &self.caller, request))
    }
    /// Uploads scans of (id, code, time by the phone's clock), all of which let somebody in.
    pub fn upload_all(
        &self,
        batch_id: &str,
        scans: &[(&str, &str, Timestamp)],
        offset_seconds: i64,
    ) -> Result<scans::IngestAnswer, Error> {
        let item = |(scan_id, barcode, at): &(&str, &str, Timestamp)| {
            let (hash, scanned_at) = (BarcodeHash::of(barcode).to_string(), at.to_string());
            let gate_id = self.gate.as_str();
            let fields = V1Fields { scan_id, ticket_id: None, barcode_hash: &hash, scanned_at: &scanned_at, gate_id };
            serde_json::json!({
                "scan_id": scan_id, "ticket_id": null, "barcode_hash": hash, "scanned_at": scanned_at,
                "gate_id": self.gate, "outcome": "valid", "signature": sign_v1(&self.caller.api_key, &fields),
            })
        };
        let items: Vec<serde_json::Value> = scans.iter().map(item).collect();
        let body = serde_json::json!({
            "device_id": self.caller.device_id, "sync_batch_id": batch_id, "offset_seconds": offset_seconds,
            "scans": items,
        });
        let request = serde_json::from_str(&body.to_string()).unwrap();
        now(scans::ingest_batch(&self.world.app, &self.caller, request))
    }
}
