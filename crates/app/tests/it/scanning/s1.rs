//! S1's demands on the server, sentence by sentence, as far as no other file tests them (`docs/conformance.md`).

use admit_app::manifests::{self, FetchCommand, FetchedManifest};
use admit_app::ports::{ScanFilter, Topic};
use admit_app::tickets::{self, NewTicket, TicketPatch};
use admit_core::sign::{V1Fields, sign_v1};
use admit_core::ticket::TicketStatus;
use serde_json::json;

use super::*;

/// The list as JSON, as a device receives it.
fn list(world: &World, phone: &Phone<'_>) -> Value {
    let command = FetchCommand::default();
    let made = now(manifests::fetch(&world.app, &phone.caller, &world.event, command)).unwrap();
    let FetchedManifest::Body { large, tail, .. } = made else { panic!("a list") };
    serde_json::from_slice(&[large.bytes.as_slice(), &tail].concat()).unwrap()
}

/// Uploads one scan in S1's form from a phone whose clock is off, with the offset in seconds.
fn upload_with_offset(
    world: &World,
    phone: &Phone<'_>,
    scan_id: &str,
    code: &str,
    at: Timestamp,
    offset: i64,
) -> Value {
    let (hash, scanned_at) = (BarcodeHash::of(code).to_string(), at.to_string());
    let fields = V1Fields { scan_id, ticket_id: None, barcode_hash: &hash, scanned_at: &scanned_at, gate_id: "main" };
    let signature = sign_v1(&phone.caller.api_key, &fields);
    let body = json!({ "device_id": phone.caller.device_id, "sync_batch_id": format!("batch-{scan_id}"),
        "offset_seconds": offset, "scans": [{ "scan_id": scan_id, "ticket_id": null, "barcode_hash": hash,
        "scanned_at": scanned_at, "gate_id": "main", "outcome": "valid", "signature": signature }] });
    serde_json::from_str(&send_body(world, phone, &body).unwrap().body).unwrap()
}

/// S1 §2.2 `generated_at`, `expires_at`: a list is made at the request, and is valid until six hours after the event
/// (spec §4).
#[test]
fn s1_2_2_a_list_says_when_it_was_made_and_until_when_it_holds() {
    let world = World::new();
    let phone = world.phone("p", "main");
    world.pass(1_234);
    let list = list(&world, &phone);
    assert_eq!(list["generated_at"], json!(at(1_234).to_string()));
    assert_eq!(list["expires_at"], json!(at(10 * HOUR + 6 * HOUR).to_string()), "the event ends in ten hours");
}

/// S1 §2.2 `tickets[].is_valid`: true for an active ticket only. `status` says what the others are (spec §5).
#[test]
fn s1_2_2_is_valid_is_true_of_active_tickets_only() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let table = [
        ("A", TicketStatus::Active, true),
        ("V", TicketStatus::Voided, false),
        ("R", TicketStatus::Refunded, false),
        ("U", TicketStatus::Used, false),
    ];
    for (code, status, _) in table {
        let id = world.tickets(&[code]).remove(0);
        let patch = TicketPatch { status: Some(status), ..TicketPatch::default() };
        now(tickets::update(&world.app, &world.owner, id, patch)).unwrap();
    }
    let list = list(&world, &phone);
    let tickets = list["tickets"].as_array().unwrap();
    assert_eq!(tickets.len(), 4, "a ticket that is not valid is in the list as well, so that the door can say why");
    for (code, status, valid) in table {
        let hash = json!(BarcodeHash::of(code).to_string());
        let listed = tickets.iter().find(|ticket| ticket["barcode_hash"] == hash).unwrap();
        assert_eq!((&listed["is_valid"], &listed["status"]), (&json!(valid), &json!(status.as_str())), "{code}");
    }
}

/// S1 §1.1 invariant 2, §5.1 step 3d: `canonical_scanned_at = scanned_at + offset_seconds` decides which scan was
/// first.
#[test]
fn s1_5_1_the_offset_of_each_phone_decides_which_of_two_was_first() {
    // By the phones' own clocks p was first. p's clock is 15 s slow, so it was not.
    let world = World::new();
    world.tickets(&["A"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    upload_with_offset(&world, &p, "slow", "A", at(0), 15);
    let answer = upload_with_offset(&world, &q, "right", "A", at(10_000), 0);
    let conflict = &answer["conflicts"][0];
    assert_eq!(conflict["entry_scans"][0]["scan_id"], "right");
    assert_eq!(conflict["double_entry_scans"][0]["scan_id"], "slow");
    world.is_consistent();
    // The same two scans with right clocks are in the other order.
    let world = World::new();
    world.tickets(&["A"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    upload_with_offset(&world, &p, "first", "A", at(0), 0);
    let answer = upload_with_offset(&world, &q, "second", "A", at(10_000), 0);
    assert_eq!(answer["conflicts"][0]["entry_scans"][0]["scan_id"], "first");
    // A clock that is a minute fast is corrected, too.
    let r = world.phone("r", "main");
    upload_with_offset(&world, &r, "fast", "A", at(59_000), -60);
    let cause: Value = serde_json::from_str(&world.incident("double_entry").cause).unwrap();
    let entry = cause["scans"].as_array().unwrap().iter().find(|scan| scan["within"] == 1).unwrap();
    assert_eq!(entry["scan_id"], "fast");
    world.is_consistent();
}

/// S1 §5.2 "Security alert + manual review", spec D3: a late upload takes the entry from another scan. The answer, the
/// ledger and the live topic say so.
#[test]
fn s1_5_2_a_late_upload_that_takes_the_entry_is_announced_everywhere() {
    let world = World::new();
    world.tickets(&["A"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    assert_eq!(said(&q.upload("b1", "late", "A", "valid", at(60_000)).unwrap()).conflicts, []);
    world.heard.take();
    let answer = said(&p.upload("b2", "early", "A", "valid", at(0)).unwrap());
    let conflict = &answer.conflicts[0];
    assert_eq!((conflict.result.as_str(), conflict.severity.as_str()), ("DOUBLE_ENTRY", "CRITICAL"));
    assert_eq!(conflict.double_entry_scans[0].scan_id.as_str(), "late");
    let page =
        now(admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page())).unwrap();
    let changes: Value = serde_json::from_str(&page.items[0].line.changes).unwrap();
    assert_eq!((&changes["batch_id"], &changes["conflicts"]), (&json!("b2"), &json!(1)));
    let topics: Vec<Topic> = world.heard.take().into_iter().map(|hint| hint.topic).collect();
    assert!(topics.contains(&Topic::Incidents), "{topics:?}");
    assert_eq!(world.open(), ["double_entry"]);
    // Both scans carry the conflict. No person who went in is taken out of the count.
    let conflicts = ScanFilter { conflict: Some(true), ..ScanFilter::default() };
    let page = scans::list::list(&world.app, &world.owner, world.event.clone(), conflicts, whole_page());
    assert_eq!(now(page).unwrap().items.len(), 2);
    assert_eq!((world.occupancy().inside, world.occupancy().inside_over), (1, 1));
    world.is_consistent();
}

/// S1 §9.1: the server finds the outcome of each leaf of the tree. §3.1, §5.1 step 3f: it stores every scan, whatever
/// was shown at the door.
#[test]
fn s1_9_1_each_leaf_of_the_tree_is_the_servers_outcome_too_and_every_scan_is_stored() {
    let world = World::new();
    let vip = admit_app::entry_types::NewEntryType { name: "VIP".into(), zone: "vip".into() };
    now(admit_app::entry_types::create(&world.app, &world.owner, world.event.clone(), vip)).unwrap();
    let elsewhere = NewTicket { zone: Some("vip".into()), ..coded("ELSEWHERE") };
    let over = NewTicket { expires_at: Some(at(-1)), ..coded("OVER") };
    for new in [elsewhere, over, coded("GOOD")] {
        now(tickets::create(&world.app, &world.owner, world.event.clone(), vec![new])).unwrap();
    }
    let phone = world.phone("p", "main");
    let table = [
        ("s1", "NOBODY'S", Outcome::Invalid),
        ("s2", "ELSEWHERE", Outcome::GateAccessDenied),
        ("s3", "GOOD", Outcome::Valid),
        ("s4", "GOOD", Outcome::Duplicate),
        ("s5", "OVER", Outcome::Expired),
    ];
    world.pass(HOUR);
    for (n, (scan_id, code, outcome)) in table.into_iter().enumerate() {
        phone.scan(scan_id, code, outcome.as_str(), at(n as i64 * 60_000));
    }
    for (scan_id, code, outcome) in table {
        let asked = ScanFilter { outcome: Some(outcome), ..ScanFilter::default() };
        let page = scans::list::list(&world.app, &world.owner, world.event.clone(), asked, whole_page());
        let rows = now(page).unwrap().items;
        assert_eq!(rows.len(), 1, "{outcome}");
        assert_eq!(rows[0].fact.scan.scan_id.as_str(), scan_id);
        assert_eq!(rows[0].fact.scan.barcode_hash, Some(BarcodeHash::of(code)));
        assert_eq!((rows[0].fact.scan.outcome, rows[0].verdict.as_ref().unwrap().outcome), (outcome, outcome));
        assert_eq!(rows[0].fact.scan.opened, outcome == Outcome::Valid);
    }
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]), "all five were right");
    world.is_consistent();
}

/// S1 §6.2 Device `last_sync_at`: the time of the last successful sync. A heartbeat is no sync.
#[test]
fn s1_6_2_a_device_tells_when_it_last_synced() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let last = || {
        now(admit_app::devices::list(&world.app, &world.owner, world.event.clone())).unwrap()[0]
            .device
            .health
            .last_sync_at
    };
    assert_eq!(last(), None);
    world.pass(60_000);
    phone.scan("s1", "A", "valid", at(0));
    assert_eq!(last(), Some(at(60_000)));
    world.pass(60_000);
    let beat = json!({ "log_id": "log", "head": 0, "pending": 0, "manifest_version": 1 });
    let beat = serde_json::from_value(beat).unwrap();
    now(admit_app::devices::heartbeat(&world.app, &phone.caller, beat)).unwrap();
    let refused = json!({ "device_id": "p", "sync_batch_id": "b", "format": 3, "scans": [] });
    send_body(&world, &phone, &refused).unwrap_err();
    assert_eq!(last(), Some(at(60_000)), "neither is a sync that succeeded");
}

/// S1 §6.2 SyncBatch: the server keeps the batch's own fields, including its offset.
#[test]
fn s1_6_2_a_batch_keeps_its_device_its_processed_scans_and_its_offset() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    upload_with_offset(&world, &phone, "s1", "A", at(0), -7);
    let device = phone.caller.device_id.clone();
    let stored = now(read(&*world.app.store, &world.owner.organization_id, move |tx| {
        tx.batch(&device, "sync", &"batch-s1".parse().unwrap())
    }));
    let stored = stored.unwrap().unwrap();
    assert_eq!((stored.device_id, stored.event_id), (phone.caller.device_id.clone(), world.event.clone()));
    assert_eq!((stored.offset_seconds, stored.batch_size, stored.processed_count, stored.error_count), (-7, 1, 1, 0));
    let answer: Value = serde_json::from_str(&stored.answer).unwrap();
    assert_eq!(answer["processed"], json!(["s1"]));
}
