//! S1's and S2's scans name no event. Each belongs to the event to which its device was assigned at the scan's time
//! (spec §4, §5).

use admit_app::devices::{self, PairCommand};
use admit_core::gate::Direction;

use super::*;

/// Makes a second live event with a gate `side`, and moves the phone to it.
fn move_on(world: &World, phone: &mut Phone<'_>) -> EventId {
    let second = now(events::create(&world.app, &world.owner, new_event("Second"))).unwrap().event_id;
    let side = new_gate("side", Direction::In, &["general"]);
    now(admit_app::gates::create(&world.app, &world.owner, second.clone(), side)).unwrap();
    pair_to(world, phone, &second, "side");
    second
}

fn pair_to(world: &World, phone: &mut Phone<'_>, event: &EventId, slug: &str) {
    let token = admit_app::pairing_tokens::create(&world.app, &world.owner, event.clone(), gate(slug), None);
    let command = PairCommand {
        pairing_token: now(token).unwrap().pairing_token,
        device_id: phone.caller.device_id.clone(),
        name: None,
        device_type: None,
        api_key: Some(phone.caller.api_key.clone()),
    };
    let api_key = now(devices::pair(&world.app, command)).unwrap().api_key;
    phone.caller = now(devices::authenticate(&world.app, &api_key)).unwrap();
}

fn inside(world: &World, event: &EventId) -> i64 {
    let event = event.clone();
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.occupancy(&event))).unwrap().inside
}

fn check(world: &World, event: &EventId) {
    let found = scans::rebuild::check(&world.app, &world.owner.organization_id, event);
    assert_eq!(now(found).unwrap().lines, Vec::<String>::new());
}

#[test]
fn a_v1_batch_after_a_move_is_split_by_each_scans_time() {
    let world = World::new();
    world.tickets(&["A"]);
    let mut phone = world.phone("p", "main");
    world.pass(HOUR);
    let second = move_on(&world, &mut phone);
    let made = tickets::create(&world.app, &world.owner, second.clone(), vec![coded("A")]);
    now(made).unwrap();
    world.pass(HOUR);
    // Both scans have the code `A`: each event has its own ticket with that code.
    let items = [("s1", at(60_000)), ("s2", at(2 * HOUR - 60_000))];
    let answer = phone.upload_all("b", &items.map(|(id, at)| (id, "A", at)), 0).unwrap();
    assert_eq!(answer.processed, 2);
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (1, 1));
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let place = now(read(&*world.app.store, &world.owner.organization_id, {
        let second = second.clone();
        move |tx| tx.head(&second)
    }));
    let cursor = answer["cursor"].as_str().unwrap().to_owned();
    assert!(cursor.ends_with(&format!(".{}", place.unwrap().serial)), "the present event's cursor: {cursor}");
    world.is_consistent();
    check(&world, &second);
    // The same batch again is recognised. The same scans in another batch are recognised, too.
    assert!(phone.upload_all("b", &items.map(|(id, at)| (id, "A", at)), 0).unwrap().repeated);
    let again = phone.upload_all("c", &items.map(|(id, at)| (id, "A", at)), 0).unwrap();
    assert_eq!((again.processed, world.occupancy().inside, inside(&world, &second)), (2, 1, 1));
}

/// The digest of a scan's content does not include the event. So a delivery with another clock offset is the same scan,
/// and stays in its event.
#[test]
fn another_offset_never_moves_a_stored_scan_to_another_event() {
    let world = World::new();
    world.tickets(&["A"]);
    let mut phone = world.phone("p", "main");
    world.pass(HOUR);
    let second = move_on(&world, &mut phone);
    world.pass(HOUR);
    // By the phone's clock the scan is three minutes before the move. With the first offset it is two minutes after it.
    let scan = [("s", "A", at(HOUR - 180_000))];
    phone.upload_all("b1", &scan, 300).unwrap();
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (0, 1), "by the corrected time");
    phone.upload_all("b2", &scan, 0).unwrap();
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (0, 1), "one scan, where it was first put");
    world.is_consistent();
    check(&world, &second);
}

/// A client numbers its scans from one at each event. The ids are the same, and the scans are different.
#[test]
fn the_same_scan_id_at_another_event_is_another_scan() {
    let world = World::new();
    world.tickets(&["A"]);
    let mut phone = world.phone("p", "main");
    sync(&world, &phone, "b1", &[("1", "A", at(60_000))]);
    world.pass(HOUR);
    let second = move_on(&world, &mut phone);
    for code in ["B", "C", "D"] {
        now(tickets::create(&world.app, &world.owner, second.clone(), vec![coded(code)])).unwrap();
    }
    world.pass(HOUR);
    let later = |n: i64| at(2 * HOUR - 60_000 + n);
    sync(&world, &phone, "b2", &[("1", "B", later(0)), ("2", "C", later(1)), ("3", "D", later(2))]);
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (1, 3));
    world.is_consistent();
    check(&world, &second);
    // A rebuild leaves both scans in their events.
    now(scans::rebuild::rebuild(&world.app, &world.owner.organization_id, &world.event)).unwrap();
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (1, 3));
}

/// Clients may number their scans from one at each event. So equal ids at different events are no finding.
#[test]
fn the_same_scan_id_of_two_devices_at_two_events_is_no_finding() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let (mut p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    let second = move_on(&world, &mut p);
    now(tickets::create(&world.app, &world.owner, second.clone(), vec![coded("C")])).unwrap();
    world.pass(HOUR);
    sync(&world, &p, "b", &[("1", "C", at(HOUR - 60_000))]);
    sync(&world, &q, "b", &[("1", "A", at(HOUR - 60_000))]);
    assert_eq!((world.open(), world.occupancy().inside, inside(&world, &second)), (vec![], 1, 1));
    // The same id of a second device at the same event is a finding.
    let r = world.phone("r", "main");
    sync(&world, &r, "b", &[("1", "B", at(HOUR - 60_000))]);
    assert_eq!((world.open(), world.occupancy().inside), (vec!["scan_id_reused".to_owned()], 2));
    world.is_consistent();
    check(&world, &second);
}

#[test]
fn a_device_that_came_back_scans_for_its_first_event_again() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let mut phone = world.phone("p", "main");
    world.pass(HOUR);
    let second = move_on(&world, &mut phone);
    world.pass(HOUR);
    pair_to(&world, &mut phone, &world.event, "main");
    world.pass(HOUR);
    let answer = sync(
        &world,
        &phone,
        "b",
        &[("s1", "A", at(60_000)), ("s2", "X", at(2 * HOUR - 60_000)), ("s3", "B", at(3 * HOUR - 60_000))],
    );
    assert_eq!(
        errors(&answer),
        pairs(&[("s2", "ticket_not_found")]),
        "code X is of the second event, and unknown there"
    );
    assert_eq!((world.occupancy().inside, inside(&world, &second)), (2, 1));
    world.is_consistent();
    check(&world, &second);
}
