//! How the server stores people without a ticket and recounts, and reports them (decision 037).

use admit_app::devices;
use admit_app::gates::{self, GatePatch};
use admit_app::occupancy::{self, AreaRecount, Inside};
use admit_app::scans::rebuild;
use admit_core::scan::{Headcount, PersonClass};
use admit_core::wire::scanning::HeartbeatRequest;

use super::*;

const CREW: Headcount = Headcount::Change { class: PersonClass::Crew, delta: 5 };

fn headcount(world: &World, phone: &Phone<'_>, scan_id: &str, seq: u64, headcount: Headcount, at: Timestamp) -> Scan {
    let mut scan = Scan {
        kind: ScanKind::Headcount,
        method: Method::Manual,
        barcode_hash: None,
        basis: None,
        opened: true,
        count: headcount.persons(),
        headcount: Some(headcount),
        ..scan_of(world, phone, scan_id, seq, "-", at)
    };
    scan.ticket_id = Headcount::subject_id(&scan.event_id, &scan.device_id, &scan.scan_id);
    scan
}
fn undo(target: &Scan, scan_id: &str, seq: u64) -> Scan {
    Scan {
        kind: ScanKind::Revert,
        scan_id: ScanId::new(scan_id).unwrap(),
        seq: Some(seq),
        headcount: None,
        count: 1,
        target_device: Some(target.device_id.clone()),
        target_scan_id: Some(target.scan_id.clone()),
        at: target.at.plus_ms(1),
        ..target.clone()
    }
}
fn show(world: &World) -> Inside {
    now(occupancy::show(&world.app, &world.owner, world.event.clone())).unwrap()
}
fn recounts(world: &World) -> Vec<(u32, i64, i64)> {
    let told = |AreaRecount { recount, counted, now, .. }: AreaRecount| (recount.inside, counted, now);
    show(world).recounts.into_iter().map(told).collect()
}
fn is_as_reduced(world: &World) {
    let found = now(rebuild::check(&world.app, &world.owner.organization_id, &world.event)).unwrap();
    assert_eq!(found.lines, Vec::<String>::new());
}
/// The number of persons in the area of the phone's gate, as the heartbeat's answer says. `None` if it has no number.
fn told(world: &World, phone: &Phone<'_>) -> Option<u32> {
    let beat: HeartbeatRequest =
        serde_json::from_value(json!({ "pending": 0, "manifest_version": 0, "log_id": "log", "head": 0 })).unwrap();
    now(devices::heartbeat(&world.app, &phone.caller, beat)).unwrap().answer.area_inside
}

#[test]
fn people_without_a_ticket_are_counted_by_class_and_gate_and_in_no_figure_of_tickets() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    let crew = headcount(&world, &phone, "h1", 1, CREW, at(1_000));
    let staff = Headcount::Change { class: PersonClass::Staff, delta: -2 };
    let staff = headcount(&world, &phone, "h2", 2, staff, at(2_000));
    send(&world, &phone, "one", &[signed(&phone, &crew), signed(&phone, &staff)]).unwrap();
    send(&world, &phone, "again", &[signed(&phone, &crew)]).unwrap();
    let shown = show(&world);
    let people = shown.occupancy.without_ticket;
    assert_eq!((people.crew, people.staff, people.total()), (5, -2, 3));
    assert_eq!((shown.occupancy.inside, shown.occupancy.entered, shown.occupancy.subjects), (1, 1, 1));
    assert_eq!(shown.gates.iter().map(|(_, flow)| flow.without_ticket).sum::<i64>(), 3);
    assert_eq!(world.open(), Vec::<String>::new());
    is_as_reduced(&world);
    send(&world, &phone, "undo", &[signed(&phone, &undo(&crew, "h3", 3))]).unwrap();
    assert_eq!(show(&world).occupancy.without_ticket.total(), -2);
    is_as_reduced(&world);
}

/// Entries and exits after a recount are added to it, to the millisecond and in whatever order the scans arrive.
#[test]
fn a_recount_sets_who_is_inside_and_later_scans_are_counted_on_from_it() {
    let world = World::new();
    let patch = GatePatch { capacity: Some(Some(100)), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), patch)).unwrap();
    world.tickets(&["A", "B", "C", "D"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "B", "valid", at(10_000));
    assert_eq!((told(&world, &phone), recounts(&world)), (Some(2), vec![]));
    let recount = headcount(&world, &phone, "h1", 1, Headcount::Recount { inside: 40 }, at(10_000));
    send(&world, &phone, "one", &[signed(&phone, &recount)]).unwrap();
    assert_eq!((told(&world, &phone), recounts(&world)), (Some(40), vec![(40, 2, 40)]));
    phone.scan("s3", "C", "valid", at(10_001));
    let crew = headcount(&world, &phone, "h2", 2, CREW, at(130_000));
    send(&world, &phone, "two", &[signed(&phone, &crew)]).unwrap();
    assert_eq!((told(&world, &phone), recounts(&world)), (Some(46), vec![(40, 2, 46)]));
    phone.scan("late", "D", "valid", at(9_999));
    assert_eq!((told(&world, &phone), recounts(&world)), (Some(46), vec![(40, 3, 46)]), "the recount held it already");
    is_as_reduced(&world);
    send(&world, &phone, "three", &[signed(&phone, &undo(&recount, "h3", 3))]).unwrap();
    assert_eq!((told(&world, &phone), recounts(&world)), (Some(9), vec![]));
    is_as_reduced(&world);
}

#[test]
fn a_recount_that_is_not_proven_holds_nothing_until_a_rebuild_agrees() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let recount = headcount(&world, &phone, "h1", 1, Headcount::Recount { inside: 40 }, at(0));
    let mut item = signed(&phone, &recount);
    item["signature"] = json!("HMAC-SHA256-V2=00");
    send(&world, &phone, "one", &[item]).unwrap();
    assert_eq!(recounts(&world), vec![]);
    send(&world, &phone, "two", &[signed(&phone, &recount)]).unwrap();
    assert_eq!(recounts(&world), vec![(40, 0, 40)]);
    now(rebuild::rebuild(&world.app, &world.owner.organization_id, &world.event)).unwrap();
    assert_eq!(recounts(&world), vec![(40, 0, 40)]);
    is_as_reduced(&world);
}
