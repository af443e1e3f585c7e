//! Events: creating them, changing them, their statuses, and what a change does to earlier scans.

use admit_app::entry_types;
use admit_app::events::{self, EventPatch};
use admit_app::ports::{Topic, read};
use admit_app::records::{EventRecord, Role};
use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::rule::When;
use admit_core::sign::check_pin;
use admit_core::time::Timestamp;

use crate::world::*;

fn patch(world: &World, patch: EventPatch) -> Result<EventRecord, admit_app::error::Error> {
    now(events::update(&world.app, &world.owner, world.event.clone(), patch))
}

fn rules(world: &World, when: When) -> admit_core::event::EventRules {
    let event = world.event.clone();
    let book = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.load_rules(&event, &[])));
    book.unwrap().book.event(when).unwrap()
}

#[test]
fn an_event_begins_with_an_entry_type_and_its_values_hold_from_the_start() {
    let world = World::new();
    let types = now(entry_types::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!(
        types.iter().map(|one| (one.record.name.as_str(), one.record.zone.as_str())).collect::<Vec<_>>(),
        [("General", "general")]
    );
    let rules = rules(&world, When::Scan { at: Timestamp::START, known: 0 });
    assert_eq!((rules.status, rules.re_entry, rules.min_gap_seconds), (EventStatus::Live, ReEntry::Never, 300));
    world.is_consistent();
}

#[test]
fn phones_are_told_of_another_zone_and_of_nothing_that_leaves_the_clock_as_it_is() {
    let world = World::new();
    let told = || {
        let event = world.event.clone();
        let organization = &world.owner.organization_id;
        let read = now(read(&*world.app.store, organization, move |tx| {
            Ok((tx.load_rules(&event, &[])?.book.door(), tx.rules_serial(&event)?))
        }));
        let (door, serial) = read.unwrap();
        (door.clock.unwrap(), serial)
    };
    let (first, version) = told();
    assert_eq!(first.zone, "Europe/Lisbon");
    patch(&world, EventPatch { venue: Some("Elsewhere".into()), ..EventPatch::default() }).unwrap();
    assert_eq!(told(), (first, version));
    patch(&world, EventPatch { time_zone: Some("Asia/Kathmandu".into()), ..EventPatch::default() }).unwrap();
    let (moved, later) = told();
    assert_eq!((moved.zone.as_str(), moved.offsets[0].offset_s), ("Asia/Kathmandu", 20_700));
    assert!(later > version, "phones fetch the list for it");
    let kinds = Some(vec![BarcodeKind::Ean13, BarcodeKind::Aztec, BarcodeKind::Ean13]);
    let event = patch(&world, EventPatch { barcode_kinds: kinds, ..EventPatch::default() }).unwrap();
    assert_eq!(event.at_door.barcode_kinds, [BarcodeKind::Aztec, BarcodeKind::Ean13], "each once, in their order");
    assert!(told().1 > later, "and for other kinds of codes");
    world.is_consistent();
}

#[test]
fn every_wrong_field_is_named() {
    let world = World::new();
    let field = |change: fn(&mut events::NewEvent)| {
        let mut new = new_event("X");
        change(&mut new);
        wrong_field(now(events::create(&world.app, &world.owner, new)))
    };
    assert_eq!(field(|new| new.name = "  ".into()), "name");
    assert_eq!(field(|new| new.name = "a\nb".into()), "name");
    assert_eq!(field(|new| new.time_zone = "Berlin".into()), "time_zone");
    assert_eq!(field(|new| new.ends_at = new.starts_at), "ends_at");
    assert_eq!(field(|new| new.status = Some(EventStatus::Ended)), "status");
    assert_eq!(field(|new| new.staff_pin = Some("12".into())), "staff_pin");
    assert_eq!(field(|new| new.capacity = Some(0)), "capacity");
    assert_eq!(
        wrong_field(patch(&world, EventPatch { ends_at: Some(at(-3 * HOUR)), ..EventPatch::default() })),
        "ends_at"
    );
}

#[test]
fn an_event_goes_from_draft_to_live_to_ended_to_archived() {
    let world = World::new();
    let new = events::NewEvent { status: None, ..new_event("Later") };
    let draft = now(events::create(&world.app, &world.owner, new)).unwrap();
    let to = |status| {
        let patch = EventPatch { status: Some(status), ..EventPatch::default() };
        now(events::update(&world.app, &world.owner, draft.event_id.clone(), patch))
    };
    use EventStatus::*;
    assert_eq!(draft.status, Draft);
    assert_eq!(code(to(Ended)), "status_order");
    for status in [Live, Ended, Live, Ended, Archived] {
        assert_eq!(to(status).unwrap().status, status);
    }
    assert_eq!(code(to(Live)), "status_order");
    assert_eq!(code(to(Draft)), "status_order");
}

#[test]
fn going_live_holds_from_the_start_and_ending_from_its_commit() {
    let world = World::new();
    let at_scan = |at| rules(&world, When::Scan { at, known: 0 }).status;
    world.pass(HOUR);
    patch(&world, EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() }).unwrap();
    assert_eq!(at_scan(at(HOUR - 1)), EventStatus::Live);
    assert_eq!(at_scan(at(HOUR)), EventStatus::Ended);
    patch(&world, EventPatch { status: Some(EventStatus::Live), ..EventPatch::default() }).unwrap();
    assert_eq!(at_scan(at(HOUR)), EventStatus::Live, "ended by mistake: as if it never was");
    world.is_consistent();
}

#[test]
fn a_pin_is_set_changed_and_taken_away_and_never_told() {
    let world = World::new();
    let set = |pin: Option<&str>| {
        patch(&world, EventPatch { staff_pin: Some(pin.map(str::to_owned)), ..EventPatch::default() }).unwrap().has_pin
    };
    assert!(set(Some("4711")));
    assert!(check_pin(&rules(&world, When::Newest).staff_pin.unwrap(), "4711"));
    assert!(set(Some("4712")));
    assert!(!check_pin(&rules(&world, When::Newest).staff_pin.unwrap(), "4711"));
    assert!(!set(None));
    let lines =
        now(admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page())).unwrap();
    assert!(lines.items.iter().all(|line| !line.line.changes.contains("471")));
}

#[test]
fn a_patch_that_changes_nothing_leaves_no_trace() {
    let world = World::new();
    let before = world.ledger();
    world.heard.take();
    let same = EventPatch { name: Some("Festival".into()), ends_at: Some(at(10 * HOUR)), ..EventPatch::default() };
    patch(&world, same).unwrap();
    assert_eq!(world.ledger(), before);
    assert!(world.heard.take().is_empty());
    patch(&world, EventPatch { name: Some("Gala".into()), venue: Some("Hall".into()), ..EventPatch::default() })
        .unwrap();
    assert_eq!(world.ledger().last().unwrap(), "event_updated");
    assert!(world.heard.take().iter().any(|hint| hint.topic == Topic::Rules));
}

#[test]
fn moving_the_event_decides_anew_which_scans_are_plausible() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    phone.scan("s1", "A", "valid", at(-2 * HOUR));
    phone.scan("s2", "B", "valid", at(HOUR));
    assert_eq!(world.open(), Vec::<String>::new());
    // The event moves to two days later, so A's scan is more than a day before the doors.
    let later = EventPatch { starts_at: Some(at(23 * HOUR)), ends_at: Some(at(40 * HOUR)), ..EventPatch::default() };
    patch(&world, later).unwrap();
    assert_eq!(world.open(), ["implausible_time"]);
    world.is_consistent();
    let back = EventPatch { starts_at: Some(at(-2 * HOUR)), ends_at: Some(at(10 * HOUR)), ..EventPatch::default() };
    patch(&world, back).unwrap();
    assert_eq!(world.open(), Vec::<String>::new());
    world.is_consistent();
}

#[test]
fn another_re_entry_mode_holds_for_scans_from_then_on() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    // A phone whose clock runs ahead has uploaded this scan already. The scan is judged again when the rule that is in
    // force at its time is made.
    phone.scan("s2", "A", "valid", at(HOUR));
    assert_eq!(world.occupancy().over, 1);
    world.pass(HOUR / 2);
    patch(&world, EventPatch { re_entry: Some(ReEntry::AfterGap), ..EventPatch::default() }).unwrap();
    assert_eq!(world.occupancy().over, 0, "300 s have passed by then");
    world.is_consistent();
}

#[test]
fn who_may_not_manage_events_does_not() {
    let world = World::new();
    for role in [Role::Promoter, Role::Door, Role::Viewer] {
        let member = world.member(role);
        assert_eq!(code(now(events::create(&world.app, &member, new_event("X")))), "forbidden");
        let change = events::update(&world.app, &member, world.event.clone(), EventPatch::default());
        assert_eq!(code(now(change)), "forbidden");
        assert!(now(events::list(&world.app, &member, whole_page())).is_ok());
    }
}

#[test]
fn a_list_goes_on_where_its_cursor_says_and_refuses_another() {
    let world = World::new();
    for n in 1..=4 {
        world.pass(1);
        now(events::create(&world.app, &world.owner, new_event(&format!("E{n}")))).unwrap();
    }
    let page = |cursor| now(events::list(&world.app, &world.owner, admit_app::records::Page { limit: 2, cursor }));
    let names = |items: &[events::ListedEvent]| items.iter().map(|one| one.event.name.clone()).collect::<Vec<_>>();
    let first = page(None).unwrap();
    assert_eq!(names(&first.items), ["E4", "E3"]);
    let second = page(first.next_cursor).unwrap();
    assert_eq!(names(&second.items), ["E2", "E1"]);
    let third = page(second.next_cursor).unwrap();
    assert_eq!((names(&third.items), third.next_cursor), (vec!["Festival".to_owned()], None));
    assert_eq!(wrong_field(page(Some("nonsense".into()))), "cursor");
}
