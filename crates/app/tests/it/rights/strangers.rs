//! A phone may scan only for events to which it was assigned. Its scans of another event wait for a person (spec D10,
//! decision 046).

use admit_app::events;
use admit_app::occupancy;
use admit_app::records::IncidentStatus;
use admit_app::{incidents, tickets};
use admit_core::ids::EventId;
use admit_core::scan::{Outcome, Stage};
use admit_core::wire::scans::OnlineRequest;

use super::*;

/// An event where no device was ever paired, with the ticket `X`.
fn elsewhere(world: &World) -> EventId {
    let made = now(events::create(&world.app, &world.owner, new_event("Elsewhere"))).unwrap().event_id;
    now(admit_app::gates::create(
        &world.app,
        &world.owner,
        made.clone(),
        new_gate("main", admit_core::gate::Direction::In, &["general"]),
    ))
    .unwrap();
    now(tickets::create(&world.app, &world.owner, made.clone(), vec![coded("X")])).unwrap();
    made
}

fn scan_there(world: &World, phone: &Phone<'_>, event_id: &EventId, scan_id: &str, seq: u64) -> Scan {
    Scan { event_id: event_id.clone(), ..scan_of(world, phone, scan_id, seq, "X", at(0)) }
}

/// The number of persons inside an event, and the kinds of its open incidents.
fn stands(world: &World, event_id: &EventId) -> (i64, Vec<String>) {
    let inside = now(occupancy::show(&world.app, &world.owner, event_id.clone())).unwrap().occupancy.inside;
    let open = Some(IncidentStatus::Open);
    let page = now(incidents::list(&world.app, &world.owner, event_id.clone(), open, whole_page())).unwrap();
    (inside, page.items.iter().map(|one| one.incident.kind.to_string()).collect())
}

#[test]
fn scans_for_an_event_that_the_device_was_never_assigned_to_wait_until_a_person_counts_them() {
    let world = World::new();
    let there = elsewhere(&world);
    let phone = world.phone("p", "main");
    send(&world, &phone, "b", &[signed(&phone, &scan_there(&world, &phone, &there, "s1", 1))]).unwrap();
    assert_eq!(stands(&world, &there), (0, vec!["unverified_scan".to_owned()]));
    // Scans are no better proven if a colleague's phone carries them.
    let other = world.phone("q", "main");
    send(&world, &other, "c", &[signed(&phone, &scan_there(&world, &phone, &there, "s1", 1))]).unwrap();
    assert_eq!(stands(&world, &there), (0, vec!["unverified_scan".to_owned()]));
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, counted.waiting), (1, 0));
    assert_eq!(stands(&world, &there), (1, Vec::new()));
}

#[test]
fn a_device_that_moves_on_still_brings_what_it_took_before() {
    let world = World::new();
    world.tickets(&["X"]);
    let mut phone = world.phone("p", "main");
    let before = signed(&phone, &scan_there(&world, &phone, &world.event, "s1", 1));
    let there = elsewhere(&world);
    let token = now(pairing_tokens::create(&world.app, &world.owner, there.clone(), gate("main"), None)).unwrap();
    let moved = pair(&world, &token.pairing_token, "p", Some(&phone.caller.api_key)).unwrap();
    (phone.caller.token_hash, phone.caller.api_key) = (token_hash(&moved.api_key), moved.api_key);
    let here = signed(&phone, &scan_there(&world, &phone, &there, "s2", 2));
    send(&world, &phone, "b1", &[before]).unwrap();
    send(&world, &phone, "b2", &[here]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, Vec::new()));
    assert_eq!(stands(&world, &there), (1, Vec::new()));
}

#[test]
fn the_server_judges_nothing_for_an_event_that_the_device_was_never_assigned_to() {
    let world = World::new();
    let there = elsewhere(&world);
    let phone = world.phone("p", "main");
    let claim = Scan {
        stage: Stage::Claim,
        opened: false,
        outcome: Outcome::Valid,
        ..scan_there(&world, &phone, &there, "s1", 1)
    };
    let body = signed(&phone, &claim).to_string();
    let asked =
        now(admit_app::scans::judge_online(&world.app, &phone.caller, OnlineRequest::read(body.as_bytes()).unwrap()));
    assert!(matches!(asked, Err(Error::Denied { code: "device_not_assigned", .. })), "{asked:?}");
    assert_eq!(stands(&world, &there), (0, Vec::new()));
}
