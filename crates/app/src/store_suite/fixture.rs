//! The fixture of the contracts: an organisation, an event, tickets, scans.

use std::sync::Arc;

use admit_core::barcode::BarcodeHash;
use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::ids::IdError;
use admit_core::scan::{
    Basis, ClockEvidence, Fact, Form, Method, Outcome, Override, Scan, ScanKind, SignatureState, Stage,
};
use admit_core::sign::content_digest;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Evidence;

use crate::error::{Error, Result};
use crate::ports::{Scope, Store, Tx, read, write};
use crate::records::{
    AtDoor, ClockTime, EventRecord, Fields, GuestRecord, NewScan, OrganizationRecord, Page, TicketRecord, UserRecord,
};

/// A store under test.
pub type TestStore = Arc<dyn Store>;

/// Makes an identifier of a text.
pub fn id<T: std::str::FromStr<Err = IdError>>(text: &str) -> T {
    text.parse().unwrap()
}
/// Makes a time of milliseconds since 1970.
pub fn at(ms: i64) -> Timestamp {
    Timestamp::clamped(ms)
}
/// Makes a hash of 32 equal bytes.
pub fn hash(byte: u8) -> [u8; 32] {
    [byte; 32]
}
/// The first page of a list, with at most `limit` items.
pub fn page(limit: usize) -> Page {
    Page { limit, cursor: None }
}
/// The code of the conflict. Panics if the result is anything else.
pub fn conflict<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Err(Error::Conflict { code, .. }) => code,
        other => panic!("expected a conflict, got {other:?}"),
    }
}

/// An organisation with this id.
pub fn organization(name: &str) -> OrganizationRecord {
    OrganizationRecord { organization_id: id(name), name: name.to_uppercase(), created_at: at(1_000) }
}
/// A user with this id.
pub fn user(name: &str) -> UserRecord {
    UserRecord {
        user_id: id(name),
        email: format!("{name}@example.org"),
        name: name.to_uppercase(),
        password_hash: "$argon2id$".into(),
        created_at: at(2_000),
    }
}
/// An event that lasts from 1,000,000 s to 2,000,000 s.
pub fn event(name: &str, created_at: i64) -> EventRecord {
    EventRecord {
        event_id: id(name),
        name: format!("Event {name}"),
        venue: "Hall 1".into(),
        time_zone: "Europe/Berlin".into(),
        starts_at: at(1_000_000_000),
        ends_at: at(2_000_000_000),
        status: EventStatus::Live,
        re_entry: ReEntry::Never,
        min_gap_seconds: 300,
        day_starts_at: ClockTime::DAY_STARTS,
        has_pin: false,
        capacity: Some(500),
        walk_ins: Some(30),
        at_door: AtDoor {
            verdict_fields: vec!["Table".into(), "Company \"A\"".into()],
            barcode_kinds: vec![BarcodeKind::Aztec, BarcodeKind::Ean13],
        },
        retention_days: None,
        created_at: at(created_at),
    }
}
/// A ticket with the barcode `code-<name>`.
pub fn ticket(event_id: &str, name: &str) -> TicketRecord {
    TicketRecord {
        ticket_id: id(name),
        event_id: id(event_id),
        rules: TicketRules {
            status: TicketStatus::Active,
            entry_limit: 2,
            gate_ids: vec![id("north"), id("south")],
            zone: "general".into(),
            valid_from: None,
            expires_at: Some(at(1_900_000_000)),
        },
        barcode: Some(format!("code-{name}")),
        drawn: false,
        barcode_hashes: vec![code(name)],
        import_key: Some(format!("key-{name}")),
        order_id: Some(format!("Sale-{name}")),
        guest_id: None,
        rules_serial: 1,
        created_at: at(5_000),
    }
}
/// The hash of a ticket's barcode.
pub fn code(name: &str) -> BarcodeHash {
    BarcodeHash::of(&format!("code-{name}"))
}
/// A guest holding a ticket of the same name.
pub fn guest(event_id: &str, name: &str, full_name: &str) -> GuestRecord {
    GuestRecord {
        guest_id: id(&format!("guest-{name}")),
        event_id: id(event_id),
        ticket_id: Some(id(name)),
        guest_list_id: None,
        entry_type_id: None,
        name: full_name.into(),
        email: Some(format!("{name}@example.org")),
        phone: None,
        party_size: 2,
        note: None,
        flag: None,
        fields: Fields::from([("Table".into(), "7".into()), ("Größe".into(), "\"M\"".into())]),
        external_id: Some(format!("order-{name}")),
        created_at: at(6_000),
        updated_at: at(6_000),
        erased_at: None,
    }
}

/// A scan of a ticket's code by device `d1`, with every optional field filled that storing must keep.
pub fn scan(event_id: &str, scan_id: &str, ticket: &str) -> Scan {
    Scan {
        form: Form::V2,
        scan_id: id(scan_id),
        device_id: id("d1"),
        log_id: Some(id("log1")),
        seq: Some(1),
        prev: Some([7; 16]),
        key_id: Some(id("k1")),
        event_id: id(event_id),
        gate_id: id("north"),
        kind: ScanKind::Entry,
        stage: Stage::Final,
        method: Method::Qr,
        barcode_hash: Some(code(ticket)),
        raw_hash: Some(code(ticket)),
        ticket_id: Some(id(ticket)),
        count: 1,
        outcome: Outcome::Valid,
        opened: true,
        override_: Some(Override { by: "Ünal".into(), reason: "knows the \"band\"".into() }),
        walk_in: None,
        headcount: None,
        operator: Some("Ada".into()),
        target_device: None,
        target_scan_id: None,
        keep: 0,
        at: at(1_500_000_000),
        uncertainty_ms: 40,
        clock: Some(ClockEvidence { wall_ms: 1, mono_ms: 2, session_id: "s".into(), corrected: true }),
        epoch: None,
        manifest_version: 3,
        cursor: 4,
        practice: false,
        basis: Some(Basis::default()),
    }
}
/// A scan of a ticket that a person picked, without a code.
pub fn manual(event_id: &str, scan_id: &str, ticket: &str) -> Scan {
    Scan { method: Method::Manual, barcode_hash: None, raw_hash: None, ..scan(event_id, scan_id, ticket) }
}
/// The fact of a scan after its first delivery.
pub fn fact(scan: Scan) -> Fact {
    Fact {
        digest: content_digest(&scan),
        scan,
        signature: SignatureState::Verified,
        withheld: false,
        offset_seconds: 0,
        received_at: at(1_500_000_500),
        judged: None,
    }
}
/// The fact of a scan, to be stored.
pub fn new_scan(scan: Scan, serial: u64) -> NewScan {
    let carrier = scan.device_id.clone();
    let evidence = Evidence { signature: Some("HMAC-SHA256-V2=00".into()), sent: None, named: None };
    NewScan { fact: fact(scan), serial, batch_id: Some(id("b1")), carrier, evidence }
}

/// The scope of event `name`.
pub fn scope(organization: &str, name: &str) -> Scope {
    Scope::event(&id(organization), &id(name))
}
/// Creates an organisation. Its owner is called `{name}-owner`.
pub async fn with_organization(store: &TestStore, name: &str) {
    store.create_organization(organization(name), user(&format!("{name}-owner"))).await.unwrap();
}
/// Creates organisation `o` with event `e`.
pub async fn with_event(store: &TestStore) {
    with_organization(store, "o").await;
    make_event(store, "o", event("e", 3_000)).await;
}
/// Creates an event in an organisation.
pub async fn make_event(store: &TestStore, organization: &str, event: EventRecord) {
    let scope = Scope::organization(&id(organization));
    write(&**store, scope, move |tx| tx.insert_event(&event)).await.unwrap();
}
/// Runs a write on event `e` of organisation `o`.
pub async fn on_event<R, F>(store: &TestStore, op: F) -> Result<R>
where
    R: Send + 'static,
    F: FnMut(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    write(&**store, scope("o", "e"), op).await
}
/// Runs a read in organisation `o`.
pub async fn look<R, F>(store: &TestStore, op: F) -> R
where
    R: Send + 'static,
    F: FnOnce(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    read(&**store, &id("o"), op).await.unwrap()
}
/// Stores tickets of event `e`.
pub async fn with_tickets(store: &TestStore, names: &[&str]) {
    let tickets: Vec<TicketRecord> = names.iter().map(|name| ticket("e", name)).collect();
    on_event(store, move |tx| tx.insert_tickets(&tickets)).await.unwrap();
}
/// Stores scans in one write of event `e`. Returns the serial of the write.
pub async fn with_scans(store: &TestStore, scans: Vec<Scan>) -> u64 {
    on_event(store, move |tx| {
        let stamp = tx.stamp(&id("e"))?;
        let new: Vec<NewScan> = scans.iter().map(|scan| new_scan(scan.clone(), stamp.serial)).collect();
        tx.insert_scans(&new)?;
        Ok(stamp.serial)
    })
    .await
    .unwrap()
}
