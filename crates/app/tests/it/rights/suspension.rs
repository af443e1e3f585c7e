//! Five failed syncs suspend a device (spec D19, S2 §7 "Repeated failed syncs").

use admit_app::records::DeviceState;
use admit_core::limits::FAILED_SYNCS;
use serde_json::json;

use super::*;

fn fail(world: &World, phone: &Phone<'_>) {
    now(devices::failed_sync(&world.app, &phone.caller, "batch_id_reused")).unwrap();
}

pub fn suspend(world: &World, phone: &Phone<'_>) {
    for _ in 0..FAILED_SYNCS {
        fail(world, phone);
    }
    assert_eq!(device(world, phone.caller.device_id.as_str()).state, DeviceState::Suspended);
}

fn beat(world: &World, phone: &Phone<'_>) -> admit_core::wire::scanning::HeartbeatAnswer {
    let body = json!({ "log_id": "log", "head": 0, "pending": 0, "manifest_version": 1 });
    now(devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap())).unwrap()
}

/// S2 §7 "Same device fails 5+ times in a row": the organiser is alerted, the device is disabled. A sync that succeeds
/// sets the count back.
#[test]
fn s2_7_five_failed_syncs_in_a_row_suspend_a_device_and_alert_the_organiser() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    for _ in 0..FAILED_SYNCS - 1 {
        fail(&world, &phone);
    }
    phone.scan("s1", "A", "valid", at(0));
    assert_eq!(device(&world, "p").health.failed_syncs, 0);
    for _ in 0..FAILED_SYNCS - 1 {
        fail(&world, &phone);
    }
    assert_eq!((device(&world, "p").state, world.open()), (DeviceState::Active, Vec::new()));
    fail(&world, &phone);
    assert_eq!(
        (device(&world, "p").state, world.open()),
        (DeviceState::Suspended, vec!["repeated_failures".to_owned()])
    );
    assert_eq!(world.ledger().last().unwrap(), "device_suspended");
    let ledger = world.ledger();
    fail(&world, &phone);
    assert_eq!(world.ledger(), ledger, "once is enough");
    world.is_consistent();
}

/// spec D19: in a row. A batch that is answered again from storage got through as well as a new one.
#[test]
fn d19_a_repeated_batch_ends_the_row_of_failures_too() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let good = signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)));
    send(&world, &phone, "b", std::slice::from_ref(&good)).unwrap();
    for _ in 0..FAILED_SYNCS - 1 {
        fail(&world, &phone);
    }
    send(&world, &phone, "b", &[good]).unwrap();
    assert_eq!(device(&world, "p").health.failed_syncs, 0);
    fail(&world, &phone);
    assert_eq!(device(&world, "p").state, DeviceState::Active);
    world.is_consistent();
}

/// spec D19: its uploads are stored and held; the answer names them, so the device doesn't offer them again.
#[test]
fn d19_a_suspended_devices_uploads_are_stored_held_and_named() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    let bad = json!({ "scan_id": "bad", "log_id": "log", "seq": 2 });
    let good = signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)));
    for _ in 0..2 {
        let answer = send(&world, &phone, "b", &[good.clone(), bad.clone()]);
        let Err(Error::Denied { code: "device_suspended", details: Some(details), .. }) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(details["kept"], json!(["s1"]));
        assert_eq!(
            (&details["rejected"][0]["scan_id"], &details["rejected"][0]["kept"]),
            (&json!("bad"), &json!(true))
        );
    }
    assert_eq!(world.occupancy().inside, 0);
    assert_eq!(lacking(&world, &phone, 2), Vec::new(), "both are here");
    world.is_consistent();
}

/// spec D19: a suspended device keeps scanning: it gets its list and changes, and hears where it stands.
#[test]
fn d19_a_suspended_device_keeps_its_list_and_hears_that_it_is_suspended() {
    let world = World::new();
    let phone = world.phone("p", "main");
    assert!(!beat(&world, &phone).suspended);
    suspend(&world, &phone);
    assert!(beat(&world, &phone).suspended);
    let list = admit_app::manifests::fetch(&world.app, &phone.caller, &world.event, Default::default());
    now(list).unwrap();
    now(devices::resume(&world.app, &world.owner, id("p"))).unwrap();
    assert!(!beat(&world, &phone).suspended);
}

/// spec D19: one click counts them; the batch sent again then gets its receipt.
#[test]
fn d19_one_click_counts_what_was_held_and_the_alert_is_over() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    let forged = signed(&world.phone("q", "main"), &scan_of(&world, &phone, "s9", 9, "B", at(0)));
    assert_eq!(kept(phone.upload("b1", "s1", "A", "valid", at(0)), "device_suspended"), json!(["s1"]));
    assert_eq!(kept(send(&world, &phone, "b2", &[forged]), "device_suspended"), json!(["s9"]));
    let (record, counted) = now(devices::resume(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((record.state, counted.counted, counted.waiting), (DeviceState::Active, 1, 1));
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]), "nothing proves s9");
    assert!(phone.upload("b1", "s1", "A", "valid", at(0)).unwrap().repeated);
    world.is_consistent();
}

/// spec D19: the click is for a suspended device: an active one stays as it is, a revoked one is let in otherwise.
#[test]
fn d19_resuming_is_for_a_suspended_device() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let ledger = world.ledger();
    now(devices::resume(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!(world.ledger(), ledger);
    let door = world.member(admit_app::records::Role::Door);
    assert_eq!(code(now(devices::resume(&world.app, &door, id("p")))), "forbidden");
    let (other, _) = world.other();
    assert_eq!(code(now(devices::resume(&world.app, &other, id("p")))), "no device");
    revoke(&world, "p", None);
    assert_eq!(code(now(devices::resume(&world.app, &world.owner, id("p")))), "device_revoked");
    fail(&world, &phone);
    assert_eq!(device(&world, "p").state, DeviceState::Revoked);
}

/// spec D10, D19: a suspended device that is revoked is revoked; a suspended one that is paired anew stays suspended.
#[test]
fn d19_pairing_anew_does_not_lift_a_suspension() {
    let world = World::new();
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    pair(&world, &token(&world, None), "p", Some(&phone.caller.api_key)).unwrap();
    assert_eq!(device(&world, "p").state, DeviceState::Suspended);
    revoke(&world, "p", None);
    assert_eq!(device(&world, "p").state, DeviceState::Revoked);
}
