//! Revoking a device (spec D10, S1 §8.2).

use admit_app::changes::{self, ChangesCommand};
use admit_app::manifests::{self, FetchCommand, FetchNamesCommand};
use admit_app::records::DeviceState;
use admit_core::limits::{QUARANTINE_SCANS, SYNC_V2_SCANS};
use admit_core::scan::{Scan, Stage};

use super::*;

/// S1 §8.2 rows 1–4: the device stays on record as withdrawn, and its key is invalid at once. Scans that it still sends
/// are flagged unverified.
#[test]
fn s1_8_2_a_revoked_device_stays_on_record_and_its_syncs_wait() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    revoke(&world, "p", None);
    let listed = now(devices::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!((listed.len(), listed[0].device.state), (1, DeviceState::Revoked));
    let sent = phone.upload("b", "s1", "A", "valid", at(0));
    assert_eq!(kept(sent, "device_revoked"), serde_json::json!(["s1"]));
    assert_eq!((world.occupancy().inside, world.open()), (0, vec!["unverified_scan".to_owned()]));
    world.is_consistent();
}

/// S1 §8.2 row 5: manual review. Spec D10: one act accepts the scans that the device proved.
#[test]
fn s1_8_2_a_person_counts_what_waits_of_a_revoked_device() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    revoke(&world, "p", None);
    for (batch, scan, code) in [("b1", "s1", "A"), ("b2", "s2", "B")] {
        assert!(phone.upload(batch, scan, code, "valid", at(0)).is_err());
    }
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, counted.waiting), (2, 0));
    assert_eq!((world.occupancy().inside, world.open()), (2, Vec::new()));
    // A second acceptance finds no waiting scan and writes nothing.
    let ledger = world.ledger();
    assert_eq!(now(devices::accept(&world.app, &world.owner, id("p"))).unwrap().counted, 0);
    assert_eq!(world.ledger(), ledger);
    world.is_consistent();
}

/// spec D10: the one act does not count scans that nothing proves.
#[test]
fn d10_the_one_act_leaves_what_no_key_signed_in_the_queue() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let (phone, other) = (world.phone("p", "main"), world.phone("q", "main"));
    revoke(&world, "p", None);
    let forged = signed(&other, &scan_of(&world, &phone, "s1", 1, "A", at(0)));
    let real = signed(&phone, &scan_of(&world, &phone, "s2", 2, "B", at(0)));
    assert_eq!(kept(send(&world, &phone, "b", &[forged, real]), "device_revoked"), serde_json::json!(["s1", "s2"]));
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, counted.waiting), (1, 1));
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]));
    world.is_consistent();
}

/// spec D10 `lost_since`: scans at or after that time wait until reviewed, even if they had counted. Earlier ones
/// count.
#[test]
fn d10_scans_since_a_device_was_lost_wait_and_one_act_counts_them() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    phone.scan("s1", "A", "valid", at(HOUR - 1));
    phone.scan("s2", "B", "valid", at(HOUR));
    revoke(&world, "p", Some(at(HOUR)));
    assert_eq!(world.occupancy().inside, 1, "at or after, not before");
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, world.occupancy().inside), (1, 2));
    world.is_consistent();
}

/// spec D10: the server keeps at most 20,000 scans of a revoked device. After that it writes no more.
#[test]
fn d10_the_quota_of_a_revoked_device_is_twenty_thousand_scans() {
    let world = World::new();
    let phone = world.phone("p", "main");
    revoke(&world, "p", None);
    let quota = |result| match result {
        Err(Error::Denied { details: Some(details), .. }) => details["quota_left"].as_u64().unwrap(),
        other => panic!("{other:?}"),
    };
    let batch = |n: u64, scans: u64| -> Vec<Value> {
        let first = n * SYNC_V2_SCANS as u64;
        let seqs = first + 1..=first + scans;
        seqs.map(|seq| signed(&phone, &scan_of(&world, &phone, &format!("s{seq}"), seq, &format!("X{seq}"), at(0))))
            .collect()
    };
    let batches = QUARANTINE_SCANS / SYNC_V2_SCANS as u64;
    for n in 0..batches - 1 {
        let left = quota(send(&world, &phone, &format!("b{n}"), &batch(n, SYNC_V2_SCANS as u64)));
        assert_eq!(left, QUARANTINE_SCANS - (n + 1) * SYNC_V2_SCANS as u64);
    }
    assert_eq!(quota(send(&world, &phone, "last", &batch(batches - 1, SYNC_V2_SCANS as u64 - 1))), 1);
    // A receipt names a scan id. If only the claim still fits, the final is not stored: the answer is no receipt.
    let last = scan_of(&world, &phone, "twice", QUARANTINE_SCANS, "X", at(0));
    let claim = Scan { stage: Stage::Claim, ..last.clone() };
    let two = [signed(&phone, &claim), signed(&phone, &Scan { seq: Some(QUARANTINE_SCANS + 1), ..last })];
    assert_eq!(kept(send(&world, &phone, "twice", &two), "device_revoked"), serde_json::json!([]));
    assert_eq!(kept(send(&world, &phone, "again", &two), "device_revoked"), serde_json::json!([]));
    let ledger = world.ledger();
    assert_eq!(kept(send(&world, &phone, "more", &batch(batches, 1)), "device_revoked"), serde_json::json!([]));
    assert_eq!(world.ledger(), ledger);
}

/// spec D10: every request of a revoked device is refused, except the upload of its log.
#[test]
fn d10_a_revoked_device_gets_no_list_and_no_changes() {
    let world = World::new();
    let phone = world.phone("p", "main");
    revoke(&world, "p", None);
    let beat = serde_json::json!({ "log_id": "log", "head": 1, "pending": 1, "manifest_version": 1 });
    let beat = devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(beat).unwrap());
    assert_eq!(code(now(beat).map(drop)), "device_revoked");
    let (app, caller, event) = (&world.app, &phone.caller, &world.event);
    let list = manifests::fetch(app, caller, event, FetchCommand::default());
    assert_eq!(code(now(list).map(drop)), "device_revoked");
    let names = manifests::fetch_names(app, caller, event, FetchNamesCommand::default());
    assert_eq!(code(now(names).map(drop)), "device_revoked");
    assert_eq!(code(now(changes::poll(app, caller, event, ChangesCommand::default())).map(drop)), "device_revoked");
}

/// docs/faults.md, 17: the server keeps the earlier scans that a revoked device hands over, chunk by chunk. No count
/// changes.
#[test]
fn d10_two_thousand_older_scans_of_a_revoked_device_are_kept_and_change_no_count() {
    let world = World::new();
    let codes: Vec<String> = (0..20).map(|n| format!("A{n}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let (phone, other) = (world.phone("p", "main"), world.phone("q", "main"));
    other.scan("s", "A0", "valid", at(0));
    revoke(&world, "p", None);
    let before = world.occupancy();
    let counts = |it: &admit_core::occupancy::Occupancy| (it.inside, it.entered, it.over, it.exited);
    for chunk in 0..4_u64 {
        let seqs = chunk * 500 + 1..=chunk * 500 + 500;
        let scans: Vec<Value> = seqs
            .clone()
            .map(|seq| {
                let code = &codes[seq as usize % codes.len()];
                signed(&phone, &scan_of(&world, &phone, &format!("p{seq}"), seq, code, at(seq as i64 - HOUR)))
            })
            .collect();
        let named = kept(send(&world, &phone, &format!("b{chunk}"), &scans), "device_revoked");
        let all: Vec<String> = seqs.map(|seq| format!("p{seq}")).collect();
        assert_eq!(named, serde_json::json!(all));
        assert_eq!(counts(&world.occupancy()), counts(&before), "after chunk {chunk}");
    }
    assert_eq!(lacking(&world, &phone, 2_000), []);
    assert!(world.open().iter().all(|kind| kind == "unverified_scan"), "{:?}", world.open());
    world.is_consistent();
}
