//! Devices: pairing tokens, missing scans of their logs, revocation.

use admit_app::records::{DeviceState, Role};
use admit_app::{devices, incidents, pairing_tokens};
use admit_core::ids::DeviceId;

use crate::world::*;

#[test]
fn a_pairing_token_is_for_a_gate_and_five_minutes() {
    let world = World::new();
    let make =
        |gate_id, uses| now(pairing_tokens::create(&world.app, &world.owner, world.event.clone(), gate_id, uses));
    let token = make(gate("main"), None).unwrap();
    assert!(token.pairing_token.len() >= "admit_pt_".len() + 32, "128 bits");
    assert_eq!(token.expires_at, at(5 * 60_000));
    assert_eq!(wrong_field(make(gate("nowhere"), None)), "gate_id");
    assert_eq!(wrong_field(make(gate("main"), Some(0))), "uses");
    assert_eq!(wrong_field(make(gate("main"), Some(501))), "uses");
    let viewer = world.member(Role::Viewer);
    let refused = pairing_tokens::create(&world.app, &viewer, world.event.clone(), gate("main"), None);
    assert_eq!(code(now(refused)), "forbidden");
    world.is_consistent();
}

fn called(world: &World, token: &str, id: &str, name: &str) -> String {
    let command = devices::PairCommand {
        pairing_token: token.into(),
        device_id: DeviceId::new(id).unwrap(),
        name: Some(name.into()),
        device_type: None,
        api_key: None,
    };
    now(devices::pair(&world.app, command)).unwrap().name
}

/// Many phones pair with one code sheet at once. Each is told its gate, and each has a name of its own.
#[test]
fn a_pairing_token_tells_its_place_and_makes_names_until_it_is_used_or_over() {
    let world = World::new();
    let (owner, event) = (&world.owner, world.event.clone());
    let make = |uses, minutes| {
        now(pairing_tokens::create_for(&world.app, owner, event.clone(), gate("main"), Some(uses), minutes))
    };
    assert_eq!(wrong_field(make(1, Some(1441))), "minutes");
    let made = make(3, Some(600)).unwrap();
    assert_eq!(made.expires_at, at(600 * 60_000));
    let token = made.pairing_token.as_str();
    let show = || now(pairing_tokens::show(&world.app, token));
    let gate_name = show().unwrap().gate_name;
    assert_eq!(show().unwrap().device_name, format!("{gate_name} 1"));
    assert_eq!(show().unwrap().gate_id, gate("main"), "a look uses nothing up");
    let offered = show().unwrap().device_name;
    assert_eq!(called(&world, token, "one", &offered), format!("{gate_name} 1"));
    assert_eq!(called(&world, token, "two", &offered), format!("{gate_name} 2"), "both read the sheet at once");
    assert_eq!(show().unwrap().device_name, format!("{gate_name} 3"));
    assert_eq!(called(&world, token, "three", "Ana's phone"), "Ana's phone");
    assert_eq!(code(show()), "pairing_token_used");
    let late = make(1, Some(10)).unwrap();
    world.pass(10 * 60_000);
    assert_eq!(code(now(pairing_tokens::show(&world.app, &late.pairing_token))), "pairing_token_expired");
    assert_eq!(code(now(pairing_tokens::show(&world.app, "admit_pt_0000"))), "no pairing_token");
    world.is_consistent();
}

/// Staff choose another gate on the phone. A gate that the event does not have is ignored.
#[test]
fn a_device_that_staff_moved_is_moved_by_its_heartbeat_once() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let beat = |gate_id: Option<&str>| {
        let body = serde_json::json!({ "log_id": "log", "head": 0, "pending": 0, "gate_id": gate_id });
        let beat = serde_json::from_value(body).unwrap();
        now(devices::heartbeat(&world.app, &phone.caller, beat)).unwrap().answer.gate_id
    };
    assert_eq!(beat(None), gate("main"));
    assert_eq!(beat(Some("nowhere")), gate("main"));
    assert_eq!(beat(Some("out")), gate("out"));
    let told = world.ledger().len();
    assert_eq!(beat(Some("out")), gate("out"), "told again where the answer was lost");
    assert_eq!(world.ledger().len(), told, "and written down once");
    assert!(world.ledger().iter().any(|line| line.contains("device_moved_itself")));
    assert_eq!(beat(None), gate("out"));
    world.is_consistent();
}

#[test]
fn a_list_shows_every_device_with_its_logs() {
    let world = World::new();
    world.phone("one", "main");
    world.phone("two", "out");
    let listed = now(devices::list(&world.app, &world.owner, world.event.clone())).unwrap();
    let names: Vec<_> = listed.iter().map(|one| (one.device.name.as_str(), one.device.gate_id.as_str())).collect();
    assert_eq!(names, [("one", "main"), ("two", "out")]);
    let door = world.member(Role::Door);
    assert_eq!(code(now(devices::list(&world.app, &door, world.event.clone()))), "forbidden");
}

#[test]
fn a_revoked_devices_scans_count_until_it_was_lost_and_later_ones_wait_for_a_person() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "B", "valid", at(HOUR));
    assert_eq!(world.occupancy().inside, 2);
    let id = DeviceId::new("p").unwrap();
    let revoked = now(devices::revoke(&world.app, &world.owner, id.clone(), Some(at(HOUR)))).unwrap();
    assert_eq!((revoked.state, revoked.lost_since), (DeviceState::Revoked, Some(at(HOUR))));
    assert_eq!(world.occupancy().inside, 1, "A counts, B waits");
    assert_eq!(world.open(), ["unverified_scan"]);
    world.is_consistent();
    // The server keeps what the device sends from now on, and counts none of it.
    let refused = phone.upload("b3", "s3", "C", "valid", at(0));
    assert_eq!(code(refused), "device_revoked");
    assert_eq!((world.occupancy().inside, world.open().len()), (1, 2));
    world.is_consistent();
    // A second revocation changes nothing.
    let ledger = world.ledger();
    now(devices::revoke(&world.app, &world.owner, id, None)).unwrap();
    assert_eq!(world.ledger(), ledger);
    assert_eq!(code(now(devices::revoke(&world.app, &world.owner, DeviceId::new("x").unwrap(), None))), "no device");
}

#[test]
fn a_person_may_accept_what_a_lost_device_scanned() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    now(devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), Some(at(-1)))).unwrap();
    assert_eq!(world.occupancy().inside, 0);
    let incident = world.incident("unverified_scan");
    let said = incidents::Resolve {
        decision: Some(admit_core::review::Decision::Accept),
        scans: vec![(phone.caller.device_id.clone(), "s1".parse().unwrap())],
        note: "found in the office".into(),
    };
    let resolved = now(incidents::resolve(&world.app, &world.owner, incident.incident_id, said)).unwrap().incident;
    assert_eq!(resolved.status.as_str(), "cleared", "its cause is gone");
    assert_eq!(world.occupancy().inside, 1);
    world.is_consistent();
}

#[test]
fn a_device_that_moved_on_loses_its_scans_at_every_event() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    // The device is paired again, for another event.
    let second = now(admit_app::events::create(&world.app, &world.owner, new_event("Second"))).unwrap().event_id;
    let side = new_gate("side", admit_core::gate::Direction::In, &["general"]);
    now(admit_app::gates::create(&world.app, &world.owner, second.clone(), side)).unwrap();
    let token = now(pairing_tokens::create(&world.app, &world.owner, second.clone(), gate("side"), None)).unwrap();
    let command = devices::PairCommand {
        pairing_token: token.pairing_token,
        device_id: phone.caller.device_id.clone(),
        name: None,
        device_type: None,
        api_key: Some(phone.caller.api_key.clone()),
    };
    assert_eq!(now(devices::pair(&world.app, command)).unwrap().event_id, second);
    now(devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), Some(at(-1)))).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (0, vec!["unverified_scan".to_owned()]));
    assert_eq!(world.ledger().last().unwrap(), "device_lost");
    world.is_consistent();
}
