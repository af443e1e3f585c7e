//! Keys: pairing, revocation, and what a revoked device may still upload.

use admit_app::devices::{self, PairCommand};
use admit_app::gates::{self, GatePatch};
use admit_app::pairing_tokens;
use serde_json::json;

use super::*;

fn kept(result: Result<scans::IngestAnswer, Error>) -> (Value, Value) {
    let Err(Error::Denied { code: "device_revoked", details: Some(details), .. }) = result else {
        panic!("not a revoked device's answer: {result:?}")
    };
    (details["kept"].clone(), details["quota_left"].clone())
}

fn revoke(world: &World, phone: &Phone<'_>) {
    now(devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), None)).unwrap();
}

#[test]
fn a_revoked_devices_repeat_hears_so_and_changes_nothing() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    phone.upload("before", "s1", "A", "valid", at(0)).unwrap();
    revoke(&world, &phone);
    assert_eq!(kept(phone.upload("before", "s1", "A", "valid", at(0))), (json!(["s1"]), json!(20_000)));
    assert_eq!(kept(phone.upload("after", "s2", "B", "valid", at(0))), (json!(["s2"]), json!(19_999)));
    let (ledger, serial) = (world.ledger(), head(&world));
    for batch in ["after", "other"] {
        assert_eq!(kept(phone.upload(batch, "s2", "B", "valid", at(0))), (json!(["s2"]), json!(19_999)));
    }
    assert_eq!((world.ledger(), head(&world)), (ledger, serial));
    assert_eq!(world.occupancy().inside, 1);
    world.is_consistent();
}

/// spec D10, §3 "Log": the server stores an item that it cannot read, and names it. The item counts towards the quota,
/// and its place in the log counts as received. Otherwise a revoked phone's log could never be handed over. The same
/// item again changes nothing.
#[test]
fn d10_a_revoked_devices_malformed_items_are_stored_once_and_named() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    revoke(&world, &phone);
    let bad = json!({ "scan_id": "s1", "log_id": "log", "seq": 1 });
    let nameless = json!({ "nonsense": true });
    let good = signed(&phone, &scan_of(&world, &phone, "s2", 2, "A", at(0)));
    let rejected = |result: &Result<admit_app::scans::IngestAnswer, Error>| {
        let Err(Error::Denied { details: Some(details), .. }) = result else { panic!("refused") };
        let items = details["rejected"].as_array().unwrap().iter();
        items.map(|item| (item["index"].clone(), item["scan_id"].clone(), item["kept"].clone())).collect::<Vec<_>>()
    };
    let all = [(json!(0), json!("s1"), json!(true)), (json!(2), json!(null), json!(true))];
    let first = send(&world, &phone, "b", &[bad.clone(), good.clone(), nameless.clone()]);
    assert_eq!(rejected(&first), all);
    assert_eq!(kept(first), (json!(["s2"]), json!(19_997)));
    assert_eq!(lacking(&world, &phone, 2), Vec::new());
    let (ledger, before) = (world.ledger(), head(&world));
    for batch in ["b", "c"] {
        let again = send(&world, &phone, batch, &[bad.clone(), good.clone(), nameless.clone()]);
        assert_eq!(rejected(&again), all, "named again: the first answer may be lost");
        assert_eq!(kept(again), (json!(["s2"]), json!(19_997)));
    }
    assert_eq!((world.ledger(), head(&world)), (ledger, before));
    world.is_consistent();
}

#[test]
fn a_revoked_authors_new_scan_waits_whoever_carries_it() {
    let world = World::new();
    world.tickets(&["A"]);
    let (author, relay) = (world.phone("p", "main"), world.phone("q", "main"));
    let item = signed(&author, &scan_of(&world, &author, "s1", 1, "A", at(0)));
    revoke(&world, &author);
    send(&world, &relay, "b", &[item]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (0, vec!["unverified_scan".to_owned()]));
    world.is_consistent();
}

#[test]
fn a_revoked_device_moves_no_known_scan_in_time() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let body = |batch: &str, offset: i64| {
        let hash = BarcodeHash::of("A").to_string();
        let scanned_at = at(0).to_string();
        let fields = admit_core::sign::V1Fields {
            scan_id: "s",
            ticket_id: None,
            barcode_hash: &hash,
            scanned_at: &scanned_at,
            gate_id: "main",
        };
        let signature = admit_core::sign::sign_v1(&phone.caller.api_key, &fields);
        let item = json!({ "scan_id": "s", "ticket_id": null, "barcode_hash": hash, "scanned_at": scanned_at,
            "gate_id": "main", "outcome": "valid", "signature": signature });
        json!({ "device_id": "p", "sync_batch_id": batch, "offset_seconds": offset, "scans": [item] })
    };
    send_body(&world, &phone, &body("b", 600)).unwrap();
    let before = world.ticket(&ids[0]).2;
    revoke(&world, &phone);
    assert_eq!(kept(send_body(&world, &phone, &body("c", 1))).0, json!(["s"]));
    assert_eq!(world.ticket(&ids[0]).2, before);
    world.is_consistent();
}

fn pair(world: &World, token: &str, device: &str, api_key: Option<String>) -> Result<devices::PairedDevice, Error> {
    let command = PairCommand {
        pairing_token: token.into(),
        device_id: DeviceId::new(device).unwrap(),
        name: None,
        device_type: None,
        api_key,
    };
    now(devices::pair(&world.app, command))
}

#[test]
fn a_token_pairs_one_device_and_its_repeat_kills_the_unused_key() {
    let world = World::new();
    let token = || now(pairing_tokens::create(&world.app, &world.owner, world.event.clone(), gate("main"), None));
    let first_token = token().unwrap().pairing_token;
    let first = pair(&world, &first_token, "p", None).unwrap().api_key;
    let second = pair(&world, &first_token, "p", None).unwrap().api_key;
    assert_ne!(first, second);
    assert_eq!(code(now(devices::authenticate(&world.app, &first))), "unknown_key");
    now(devices::authenticate(&world.app, &second)).unwrap();
    // The key is in use, so the token is used up. A further attempt goes on record, at most once a minute.
    assert_eq!(code(pair(&world, &first_token, "p", None)), "pairing_token_used");
    assert_eq!(code(pair(&world, &first_token, "q", None)), "pairing_token_used");
    assert_eq!(world.ledger().iter().filter(|action| *action == "pairing_refused").count(), 1);
    assert_eq!(code(pair(&world, "no such token", "q", None)), "no pairing_token");
    // A known device proves its identity with its own key.
    let next = token().unwrap().pairing_token;
    assert_eq!(code(pair(&world, &next, "p", None)), "device_id_taken");
    pair(&world, &next, "p", Some(second)).unwrap();
    let last = token().unwrap().pairing_token;
    world.pass(5 * 60_000);
    assert_eq!(code(pair(&world, &last, "r", None)), "pairing_token_expired");
    world.is_consistent();
}

#[test]
fn a_key_that_a_later_one_replaced_is_unknown_and_opens_again_only_to_hand_a_revoked_devices_log_over() {
    let world = World::new();
    let token = || now(pairing_tokens::create(&world.app, &world.owner, world.event.clone(), gate("main"), None));
    let first = pair(&world, &token().unwrap().pairing_token, "p", None).unwrap().api_key;
    now(devices::authenticate(&world.app, &first)).unwrap();
    let second = pair(&world, &token().unwrap().pairing_token, "p", Some(first.clone())).unwrap().api_key;
    now(devices::authenticate(&world.app, &second)).unwrap();
    world.pass(admit_core::limits::KEY_OVERLAP_MS);
    // The code is not `device_revoked`, on which a phone would erase its guest data.
    assert_eq!(code(now(devices::authenticate(&world.app, &first))), "unknown_key");
    now(devices::revoke(&world.app, &world.owner, DeviceId::new("p").unwrap(), None)).unwrap();
    // The answer with the second key may never have reached the phone, and a revoked device cannot be paired again. So
    // the server accepts the first key from then on.
    now(devices::authenticate(&world.app, &first)).unwrap();
}

#[test]
fn a_suspended_device_hears_so_each_time_and_gets_its_receipt_when_it_is_let_back() {
    use admit_app::ports::{Scope, write};
    use admit_app::records::{DeviceRecord, DeviceState};
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let put = |state| {
        let (id, scope) = (phone.caller.device_id.clone(), Scope::organization(&world.owner.organization_id));
        let op = write(&*world.app.store, scope, move |tx| {
            let device = tx.device(&id)?.unwrap();
            tx.update_device(&DeviceRecord { state, ..device })
        });
        now(op).unwrap();
    };
    put(DeviceState::Suspended);
    for _ in 0..2 {
        assert_eq!(code(phone.upload("b", "s", "A", "valid", at(0))), "device_suspended");
    }
    assert_eq!(world.occupancy().inside, 0, "held");
    put(DeviceState::Active);
    let answer = phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    assert_eq!((answer.repeated, said(&answer).processed.len()), (true, 1));
    world.is_consistent();
}

#[test]
fn a_heartbeat_tells_of_gaps_and_a_lower_head_takes_nothing_back() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let beat = |head: u64| {
        let body = json!({ "log_id": "log", "head": head, "pending": head, "manifest_version": 1 });
        now(devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap())).unwrap().answer
    };
    let before = head(&world);
    let answer = beat(5);
    beat(2);
    assert_eq!((answer.event_id, answer.gate_id, answer.cursor.serial), (world.event.clone(), gate("main"), before));
    assert_eq!((lacking(&world, &phone, 0), head(&world)), (vec![(1, 5)], before));
    revoke(&world, &phone);
    let body = json!({ "log_id": "log", "head": 9, "pending": 0, "manifest_version": 1 });
    let refused = devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap());
    assert_eq!(code(now(refused).map(drop)), "device_revoked");
}

/// S1 §2.3 `max_concurrent`: a device at a gate with a capacity is told how many persons are in the area of its zones.
#[test]
fn a_heartbeat_tells_how_full_the_area_behind_a_gate_is() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let (north, out) = (world.phone("n", "main"), world.phone("o", "out"));
    let beat = |phone: &Phone<'_>| {
        let body = json!({ "log_id": "log", "head": 0, "pending": 0, "manifest_version": 1 });
        now(devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap()))
            .unwrap()
            .answer
            .area_inside
    };
    north.scan("s1", "A", "valid", at(0));
    north.scan("s2", "B", "valid", at(1_000));
    assert_eq!(beat(&north), None, "a gate without a capacity has nothing to measure it by");
    let patch = GatePatch { capacity: Some(Some(100)), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), patch)).unwrap();
    assert_eq!(beat(&north), Some(2));
    out.scan("s3", "A", "valid", at(2_000));
    assert_eq!((beat(&north), beat(&out)), (Some(1), None));
    let other = GatePatch { zones: Some(vec!["backstage".into()]), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("out"), other)).unwrap();
    assert_eq!(beat(&north), Some(2), "who leaves by a gate of other zones leaves another area");
}
