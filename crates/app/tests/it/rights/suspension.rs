//! Five failed syncs in a row suspend a device (spec D19, S2 §7 "Repeated failed syncs").

use admit_app::incidents::{self, Resolve};
use admit_app::ports::{Hint, Topic};
use admit_app::records::{DeviceState, IncidentStatus, Role};
use admit_core::gate::Direction;
use admit_core::ids::EventId;
use admit_core::limits::{FAILED_SYNCS, RING_MS};
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
    now(devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap())).unwrap().answer
}

/// S2 §7 "Same device fails 5+ times in a row": the organiser gets an alert, and the device is disabled. A sync that
/// succeeds resets the count.
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

/// spec D19: failures count in a row. A batch that is answered from storage is a success, as a new one is.
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

/// spec D19: the server stores and holds a suspended device's uploads. The answer names them, so the device does not
/// offer them again.
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

/// spec D19: a suspended device keeps scanning. It gets its list and changes, and is told that it is suspended.
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

/// spec D19: one act of the organiser counts the held scans. The batch gets its receipt when it is sent again.
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

/// spec D19: the act is for a suspended device. An active one stays as it is, and a revoked one needs an approval.
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

/// spec D10, D19: a suspended device can be revoked, and is revoked then. A suspended one that is paired again stays
/// suspended.
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

/// A person answers the alert with a note: no other decision is possible about a device.
fn answer(world: &World) {
    let said = Resolve { decision: None, scans: vec![], note: "we know".into() };
    let incident_id = world.incident("repeated_failures").incident_id;
    let shown = now(incidents::resolve(&world.app, &world.owner, incident_id, said)).unwrap();
    assert_eq!(shown.incident.status, IncidentStatus::Resolved);
}

fn resume(world: &World) {
    now(devices::resume(&world.app, &world.owner, id("p"))).unwrap();
}

/// Makes another live event with a gate `main`.
fn second(world: &World) -> EventId {
    let event = now(admit_app::events::create(&world.app, &world.owner, new_event("Second"))).unwrap().event_id;
    let main = new_gate("main", Direction::In, &["general"]);
    now(admit_app::gates::create(&world.app, &world.owner, event.clone(), main)).unwrap();
    event
}

/// Pairs the phone to the gate `main` of an event with the key it holds. Returns its new key.
fn move_to(world: &World, event: &EventId, key: &str) -> String {
    let token = pairing_tokens::create(&world.app, &world.owner, event.clone(), gate("main"), None);
    pair(world, &now(token).unwrap().pairing_token, "p", Some(key)).unwrap().api_key
}

fn is_about(hint: &Hint, event: &EventId, topic: Topic) -> bool {
    hint.event_id == *event && hint.topic == topic
}

fn alert() -> Vec<String> {
    vec!["repeated_failures".to_owned()]
}

/// spec §3 "Incident", D19: an answer is about the five failures that a person looked at. The next five raise the alert
/// again, as the device's scans are not counted until a person hears of it.
#[test]
fn d19_each_suspension_alerts_the_organiser_whatever_was_answered_to_the_last() {
    let world = World::new();
    let phone = world.phone("p", "main");
    for _ in 0..2 {
        suspend(&world, &phone);
        assert_eq!(world.open(), alert());
        answer(&world);
        assert_eq!(world.open(), Vec::<String>::new(), "it is answered as long as this suspension lasts");
        fail(&world, &phone);
        assert_eq!(world.open(), Vec::<String>::new());
        resume(&world);
        let incident = world.incident("repeated_failures");
        assert_eq!((incident.status, incident.resolved_digest), (IncidentStatus::Cleared, None));
        assert_eq!(incident.resolution.unwrap().note, "we know", "what was said of it stays to be read");
    }
    world.is_consistent();
}

/// I12, D19: the alert belongs to the event where the device was suspended. When the device goes on elsewhere, the
/// alert ends.
#[test]
fn d19_the_alert_is_over_where_the_device_was_suspended_wherever_it_goes_on() {
    let world = World::new();
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    let second = second(&world);
    let key = move_to(&world, &second, &phone.caller.api_key);
    assert_eq!((device(&world, "p").state, world.open()), (DeviceState::Suspended, alert()));
    world.heard.take();
    resume(&world);
    assert_eq!((device(&world, "p").state, world.open()), (DeviceState::Active, Vec::new()));
    assert_eq!(world.ledger().last().unwrap(), "device_resumed");
    let heard = world.heard.take();
    assert!(
        heard.iter().any(|hint| is_about(hint, &world.event, Topic::Incidents)),
        "whoever looks at the alert sees it go"
    );
    assert!(heard.iter().any(|hint| is_about(hint, &second, Topic::Devices)));
    world.is_consistent();
    // An answered alert ends, too, when the device moves. So the next suspension raises an alert.
    let key = move_to(&world, &world.event, &key);
    suspend(&world, &phone);
    answer(&world);
    let key = move_to(&world, &second, &key);
    resume(&world);
    assert_eq!(world.incident("repeated_failures").status, IncidentStatus::Cleared);
    move_to(&world, &world.event, &key);
    suspend(&world, &phone);
    assert_eq!(world.open(), alert());
    world.is_consistent();
}

/// D10, D19: a person who approves a revoked device has dealt with its failures. Its count begins at zero.
#[test]
fn d19_a_device_that_is_approved_anew_begins_without_failures() {
    let world = World::new();
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    revoke(&world, "p", None);
    let ticket = ask(&world, "p");
    approve(&world, &ticket, true).unwrap();
    assert_eq!(world.open(), alert(), "until it fetches its key it is what it was");
    claimed(&world, &ticket, "p");
    assert_eq!((device(&world, "p").state, world.open()), (DeviceState::Active, Vec::new()));
    for _ in 0..FAILED_SYNCS - 1 {
        fail(&world, &phone);
        assert_eq!(device(&world, "p").state, DeviceState::Active, "not five in a row");
    }
    fail(&world, &phone);
    assert_eq!((device(&world, "p").state, world.open()), (DeviceState::Suspended, alert()));
    world.is_consistent();
}

/// I12, D10, D19: a device is approved for another event. The alert ends where it was suspended, and the ledger there
/// says why.
#[test]
fn d19_the_alert_is_over_also_where_a_device_is_approved_for_another_event() {
    let world = World::new();
    let phone = world.phone("p", "main");
    suspend(&world, &phone);
    revoke(&world, "p", None);
    let (second, ticket) = (second(&world), ask(&world, "p"));
    let place = Some((second.clone(), gate("main")));
    now(devices::approve_pairing(&world.app, &world.owner, &ticket.pairing_token, place, false)).unwrap();
    world.heard.take();
    assert_eq!(claimed(&world, &ticket, "p").event_id, second);
    assert_eq!(world.open(), Vec::<String>::new());
    assert_eq!(world.ledger().last().unwrap(), "device_returned");
    assert!(world.heard.take().iter().any(|hint| is_about(hint, &world.event, Topic::Incidents)));
    world.is_consistent();
}

#[test]
fn a_device_hears_for_two_minutes_that_an_organiser_looks_for_it() {
    let world = World::new();
    let phone = world.phone("p", "main");
    assert_eq!(beat(&world, &phone).rung_at, None);
    let id = id("p");
    let told = now(devices::ring(&world.app, &world.owner, id.clone())).unwrap().rung_at;
    assert_eq!(world.ledger().last().unwrap(), "device_rung");
    assert_eq!(beat(&world, &phone).rung_at, told);
    world.pass(RING_MS - 1);
    assert_eq!(beat(&world, &phone).rung_at, told);
    world.pass(1);
    assert_eq!(beat(&world, &phone).rung_at, None, "they stand somewhere else by now");
    let viewer = world.member(Role::Viewer);
    assert_eq!(code(now(devices::ring(&world.app, &viewer, id.clone()))), "forbidden");
    now(devices::revoke(&world.app, &world.owner, id.clone(), None)).unwrap();
    assert_eq!(code(now(devices::ring(&world.app, &world.owner, id))), "device_revoked");
    world.is_consistent();
}
