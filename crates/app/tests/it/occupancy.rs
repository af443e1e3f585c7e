//! Persons inside, how many came per minute, and the list of scans.

use admit_app::ports::ScanFilter;
use admit_app::tickets::{self, NewTicket};
use admit_app::{occupancy, scans};
use admit_core::occupancy::GateFlow;
use admit_core::scan::Outcome;

use crate::world::*;

#[test]
fn counters_of_the_event_and_of_every_gate() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let party = NewTicket { entry_limit: Some(4), ..coded("C") };
    now(tickets::create(&world.app, &world.owner, world.event.clone(), vec![party])).unwrap();
    let main = world.phone("p", "main");
    main.scan("s1", "A", "valid", at(0));
    main.scan("s2", "B", "valid", at(1_000));
    world.phone("q", "out").scan("s3", "A", "valid", at(2_000));
    let shown = now(occupancy::show(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!((shown.tickets, shown.expected_persons), (3, 6));
    let counters = &shown.occupancy;
    assert_eq!((counters.inside, counters.entered, counters.exited, counters.over), (1, 2, 1, 0));
    let flows: Vec<_> = shown.gates.iter().map(|(gate, flow)| (gate.gate_id.as_str(), *flow)).collect();
    let (entered, exited) =
        (GateFlow { entered: 2, ..GateFlow::default() }, GateFlow { exited: 1, ..GateFlow::default() });
    assert_eq!(flows, [("main", entered), ("out", exited)]);
    assert_eq!(shown.open_incidents, []);
}

#[test]
fn an_hour_minute_by_minute_with_zeros_between() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let main = world.phone("p", "main");
    main.scan("s1", "A", "valid", at(0));
    main.scan("s2", "B", "valid", at(5_000));
    main.scan("s3", "B", "duplicate", at(61_000));
    main.scan("s4", "C", "valid", at(-2 * HOUR));
    world.pass(2 * 60_000 + 1);
    let flow = now(occupancy::flow(&world.app, &world.owner, world.event.clone())).unwrap();
    let (gate, minutes) = &flow.gates[0];
    assert_eq!((gate.gate_id.as_str(), minutes.len()), ("main", 60));
    assert_eq!(flow.from, at(-57 * 60_000));
    let told: Vec<_> = minutes[57..].iter().map(|one| (one.at, one.entered, one.refused)).collect();
    assert_eq!(told, [(at(0), 2, 0), (at(60_000), 0, 1), (at(120_000), 0, 0)]);
    assert_eq!(minutes.iter().map(|one| one.entered).sum::<i64>(), 2, "what is older than an hour stays out");
}

#[test]
fn scans_are_found_by_ticket_device_outcome_and_conflict() {
    let world = World::new();
    let id = world.tickets(&["A"]).remove(0);
    let (one, two) = (world.phone("p", "main"), world.phone("q", "main"));
    one.scan("s1", "A", "valid", at(0));
    two.scan("s2", "A", "valid", at(1_000));
    two.scan("s3", "UNKNOWN", "invalid", at(2_000));
    let find = |filter| {
        let page = scans::list::list(&world.app, &world.owner, world.event.clone(), filter, whole_page());
        now(page).unwrap().items.into_iter().map(|row| row.fact.scan.scan_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(find(ScanFilter::default()), ["s3", "s2", "s1"], "newest arrival first");
    assert_eq!(find(ScanFilter { ticket_id: Some(id), ..ScanFilter::default() }), ["s2", "s1"]);
    assert_eq!(find(ScanFilter { device_id: Some("q".parse().unwrap()), ..ScanFilter::default() }), ["s3", "s2"]);
    assert_eq!(find(ScanFilter { outcome: Some(Outcome::Invalid), ..ScanFilter::default() }), ["s3"]);
    assert_eq!(find(ScanFilter { conflict: Some(true), ..ScanFilter::default() }), ["s2", "s1"]);
}
