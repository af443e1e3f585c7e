//! Events before doors open, after their end, and from day to day, with a store (decision 034).

use admit_app::entry_types::{self, EntryType, EntryTypePatch};
use admit_app::error::Error;
use admit_app::events::{self, EventPatch, NewEvent};
use admit_app::gates::{self, GatePatch};
use admit_app::ports::read;
use admit_app::records::{ClockTime, EventRecord};
use admit_app::{devices, overview};
use admit_core::event::{EventStatus, ReEntry};
use admit_core::gate::Direction;
use admit_core::rule::When;
use admit_core::scan::{Outcome, Override, Scan, ScanKind};

use crate::scanning::{scan_of, send, signed};
use crate::world::*;

fn draft() -> World {
    let mut world = World::new();
    let draft = NewEvent { status: Some(EventStatus::Draft), ..new_event("Draft") };
    world.event = now(events::create(&world.app, &world.owner, draft)).unwrap().event_id;
    let main = new_gate("main", Direction::In, &["general"]);
    now(gates::create(&world.app, &world.owner, world.event.clone(), main)).unwrap();
    world
}

fn days(world: &World) -> usize {
    let event = world.event.clone();
    let rules = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.load_rules(&event, &[])));
    rules.unwrap().book.event(When::Newest).unwrap().days.begin().len()
}

fn change(world: &World, patch: EventPatch) -> Result<EventRecord, Error> {
    now(events::update(&world.app, &world.owner, world.event.clone(), patch))
}

fn open(world: &World, count_practice: bool) -> Result<EventRecord, Error> {
    change(world, EventPatch { status: Some(EventStatus::Live), count_practice, ..EventPatch::default() })
}

fn practised(world: &World) -> u64 {
    now(overview::show(&world.app, &world.owner, world.event.clone())).unwrap().practice_persons
}

/// Ana and Bo go in as practice, and Bo's practice scan is undone.
fn practise(world: &World, phone: &Phone<'_>) {
    let scan = |id: &str, seq, code: &str| Scan { practice: true, ..scan_of(world, phone, id, seq, code, at(0)) };
    let (ana, bo) = (scan("s1", 1, "A"), scan("s2", 2, "B"));
    let undo = Scan {
        kind: ScanKind::Revert,
        target_device: Some(bo.device_id.clone()),
        target_scan_id: Some(bo.scan_id.clone()),
        ..scan("s3", 3, "B")
    };
    send(world, phone, "practice", &[ana, bo, undo].map(|scan| signed(phone, &scan))).unwrap();
}

#[test]
fn practice_counts_nothing_and_whoever_opens_the_doors_hears_of_it() {
    let world = draft();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    practise(&world, &phone);
    assert_eq!((world.occupancy().inside, practised(&world), world.open()), (0, 1, vec![]));
    open(&world, false).unwrap();
    assert_eq!((world.occupancy().inside, practised(&world)), (0, 0), "it is gone");
    world.pass(1_000);
    let real = scan_of(&world, &phone, "s4", 4, "A", at(1_000));
    send(&world, &phone, "real", &[signed(&phone, &real)]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]));
    world.is_consistent();
}

#[test]
fn practice_that_was_real_counts_in_its_own_time_as_the_doors_open() {
    let world = draft();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    practise(&world, &phone);
    world.pass(60_000);
    open(&world, true).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]), "who was undone is not in");
    world.is_consistent();
}

#[test]
fn practice_of_yesterday_is_nobodys_who_stands_inside() {
    let world = draft();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    practise(&world, &phone);
    world.pass(13 * HOUR);
    assert_eq!(practised(&world), 0);
    open(&world, true).unwrap();
    assert_eq!(world.occupancy().inside, 0);
    world.is_consistent();
}

#[test]
fn only_doors_that_open_count_practice() {
    let world = World::new();
    let counts = EventPatch { count_practice: true, ..EventPatch::default() };
    assert_eq!(wrong_field(change(&world, counts)), "count_practice");
    assert_eq!(wrong_field(open(&world, true)), "count_practice", "they are open");
}

#[test]
fn a_phone_that_had_not_heard_is_a_case_until_a_person_decides() {
    let world = draft();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    open(&world, false).unwrap();
    world.pass(60_000);
    let late = Scan { practice: true, ..scan_of(&world, &phone, "s1", 1, "A", at(60_000)) };
    send(&world, &phone, "late", &[signed(&phone, &late)]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (0, vec!["practice_after_open".to_owned()]));
    world.is_consistent();
}

#[test]
fn who_is_let_in_after_the_end_is_told_apart_from_a_mistake() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    change(&world, EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() }).unwrap();
    world.pass(HOUR);
    let before = scan_of(&world, &phone, "s1", 1, "A", at(0));
    let override_ = Some(Override { by: "Ada".into(), reason: "crew".into() });
    let after = Scan { outcome: Outcome::Expired, override_, ..scan_of(&world, &phone, "s2", 2, "B", at(2 * HOUR)) };
    send(&world, &phone, "both", &[before, after].map(|scan| signed(&phone, &scan))).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (2, vec!["admitted_after_end".to_owned()]));
    // If the organiser takes the end back, the event has not ended.
    change(&world, EventPatch { status: Some(EventStatus::Live), ..EventPatch::default() }).unwrap();
    assert_eq!(world.open(), Vec::<String>::new());
    world.is_consistent();
}

#[test]
fn a_daily_event_lets_a_ticket_in_once_a_day_of_its_zone() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    // It is 20:00 in Lisbon when the second guest comes.
    let daily = EventPatch {
        re_entry: Some(ReEntry::Daily),
        day_starts_at: Some("20:00".parse::<ClockTime>().unwrap()),
        ..EventPatch::default()
    };
    change(&world, daily).unwrap();
    let of = |id: &str, seq, ms| signed(&phone, &scan_of(&world, &phone, id, seq, "A", at(ms)));
    world.pass(2 * HOUR);
    send(&world, &phone, "two-days", &[of("s1", 1, 0), of("s2", 2, HOUR)]).unwrap();
    assert_eq!(world.open(), Vec::<String>::new());
    // The newest setting of when days begin holds for all scans.
    let later = EventPatch { day_starts_at: Some("23:00".parse().unwrap()), ..EventPatch::default() };
    change(&world, later).unwrap();
    assert_eq!(world.open(), ["double_entry"]);
    world.is_consistent();
    assert_eq!(days(&world), 3, "from a day before to a day after");
    change(&world, EventPatch { re_entry: Some(ReEntry::Never), ..EventPatch::default() }).unwrap();
    assert_eq!(days(&world), 0, "days stand in the list only where they count");
}

/// Most festivals scan nobody out: guests of yesterday must not fill the area today.
#[test]
fn an_area_that_nobody_is_scanned_out_of_is_empty_when_a_day_begins() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let full = GatePatch { capacity: Some(Some(10)), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), full)).unwrap();
    let daily = EventPatch {
        re_entry: Some(ReEntry::Daily),
        day_starts_at: Some("20:00".parse().unwrap()),
        ..EventPatch::default()
    };
    change(&world, daily).unwrap();
    let (phone, way_out) = (world.phone("p", "main"), world.phone("q", "out"));
    let inside = || {
        let beat = serde_json::from_value(serde_json::json!({ "log_id": "log", "head": 0, "pending": 0 })).unwrap();
        now(devices::heartbeat(&world.app, &phone.caller, beat)).unwrap().answer.area_inside
    };
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "B", "valid", at(1_000));
    assert_eq!(inside(), Some(2));
    world.pass(HOUR);
    assert_eq!(inside(), Some(0), "20:00 in Lisbon");
    phone.scan("s3", "C", "valid", at(HOUR));
    assert_eq!(inside(), Some(1));
    // Where guests are scanned out, the server knows who stayed overnight.
    way_out.scan("s4", "A", "valid", at(HOUR + 1_000));
    assert_eq!(inside(), Some(2), "three came in, one left");
}

fn limit(world: &World, patch: EntryTypePatch) -> Result<EntryType, Error> {
    let types = now(entry_types::list(&world.app, &world.owner, world.event.clone())).unwrap();
    let general = types[0].record.entry_type_id.clone();
    now(entry_types::update(&world.app, &world.owner, world.event.clone(), general, patch))
}

#[test]
fn an_entry_type_may_enter_once_at_each_gate_and_so_often_in_all() {
    let world = World::new();
    world.tickets(&["A"]);
    now(gates::create(&world.app, &world.owner, world.event.clone(), new_gate("side", Direction::In, &["general"])))
        .unwrap();
    let changed = limit(&world, EntryTypePatch { per_gate: Some(true), ..EntryTypePatch::default() }).unwrap();
    assert!(changed.limits.per_gate);
    let (main, side) = (world.phone("p", "main"), world.phone("q", "side"));
    main.scan("s1", "A", "valid", at(0));
    side.scan("s2", "A", "valid", at(1_000));
    assert_eq!(world.open(), Vec::<String>::new());
    main.scan("s3", "A", "valid", at(2_000));
    assert_eq!(world.open(), ["double_entry"]);
    world.is_consistent();
    // The limit holds from now on, and an earlier scan stays right.
    world.pass(HOUR);
    limit(&world, EntryTypePatch { uses: Some(Some(2)), ..EntryTypePatch::default() }).unwrap();
    side.scan("s4", "A", "valid", at(HOUR + 1_000));
    assert_eq!(world.ledger().iter().filter(|action| *action == "entry_type_updated").count(), 2);
    world.is_consistent();
}

#[test]
fn limits_that_contradict_each_other_are_refused_by_name() {
    let world = World::new();
    let both =
        EntryTypePatch { re_entry: Some(Some(ReEntry::AfterExit)), per_gate: Some(true), ..EntryTypePatch::default() };
    assert_eq!(wrong_field(limit(&world, both)), "per_gate");
    let none = EntryTypePatch { uses: Some(Some(0)), ..EntryTypePatch::default() };
    assert_eq!(wrong_field(limit(&world, none)), "uses");
    let before = world.ledger();
    limit(&world, EntryTypePatch::default()).unwrap();
    assert_eq!(world.ledger(), before, "what changes nothing leaves no trace");
}

#[test]
fn one_zone_may_be_daily_where_the_event_is_not() {
    let world = World::new();
    limit(&world, EntryTypePatch { re_entry: Some(Some(ReEntry::Daily)), ..EntryTypePatch::default() }).unwrap();
    assert!(days(&world) > 0);
    limit(&world, EntryTypePatch { re_entry: Some(None), ..EntryTypePatch::default() }).unwrap();
    assert_eq!(days(&world), 0);
    world.is_consistent();
}
