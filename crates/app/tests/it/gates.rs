//! Tests of gates, entry types and guest lists.

use admit_app::entry_types::{EntryTypePatch, NewEntryType};
use admit_app::gates::{self, GatePatch};
use admit_app::guest_lists::NewGuestList;
use admit_app::ports::read;
use admit_app::records::Role;
use admit_app::{entry_types, guest_lists};
use admit_core::gate::{Direction, EntryRule};

use crate::world::*;

#[test]
fn a_gate_is_plain_and_its_id_is_taken_once() {
    let world = World::new();
    let create = |new| now(gates::create(&world.app, &world.owner, world.event.clone(), new));
    let plain = gates::NewGate {
        gate_id: gate("north"),
        name: None,
        zones: None,
        direction: None,
        capacity: None,
        names_on_devices: None,
        walk_ins: None,
        entry_rules: None,
    };
    let made = create(plain.clone()).unwrap();
    assert_eq!((made.rules.name.as_str(), made.rules.direction), ("north", Direction::In));
    assert_eq!(made.rules.zones, ["general"], "the zones of the event's entry types");
    assert_eq!(made.rules.entry_rules, [EntryRule::CheckTicketValid, EntryRule::CheckNotDuplicate]);
    assert!(made.rules.names_on_devices, "on for new gates");
    assert_eq!(code(create(plain.clone())), "gate_exists");
    assert_eq!(wrong_field(create(gates::NewGate { gate_id: gate("North!"), ..plain })), "id");
    let listed = now(gates::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!(listed.iter().map(|one| one.gate_id.as_str()).collect::<Vec<_>>(), ["main", "north", "out"]);
    world.is_consistent();
}

#[test]
fn a_gates_new_zones_hold_for_scans_from_then_on() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    world.pass(HOUR);
    let vip = GatePatch { zones: Some(vec!["vip".into()]), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), vip)).unwrap();
    assert_eq!(world.open(), Vec::<String>::new(), "A was right when it was let in");
    phone.scan("s2", "B", "valid", at(HOUR + 1_000));
    assert_eq!(world.open(), ["admitted_in_error"]);
    assert_eq!(world.occupancy().inside, 2, "and still inside");
    world.is_consistent();
}

#[test]
fn a_gate_made_after_its_scans_is_found_by_them() {
    let world = World::new();
    world.tickets(&["A"]);
    now(gates::create(&world.app, &world.owner, world.event.clone(), new_gate("side", Direction::In, &["vip"])))
        .unwrap();
    let side = world.phone("p", "side");
    side.scan("s1", "A", "valid", at(0));
    assert_eq!(world.open(), ["admitted_in_error"]);
    let out = GatePatch { direction: Some(Direction::Out), name: Some("Side".into()), ..GatePatch::default() };
    let changed = now(gates::update(&world.app, &world.owner, world.event.clone(), gate("side"), out)).unwrap();
    assert_eq!((changed.rules.direction, changed.rules.name.as_str()), (Direction::Out, "Side"));
    world.is_consistent();
    let same = GatePatch { direction: Some(Direction::Out), ..GatePatch::default() };
    let before = world.ledger().len();
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("side"), same)).unwrap();
    assert_eq!(world.ledger().len(), before);
    let none = gates::update(&world.app, &world.owner, world.event.clone(), gate("none"), GatePatch::default());
    assert_eq!(code(now(none)), "no gate");
}

#[test]
fn entry_types_keep_their_order_and_names_once() {
    let world = World::new();
    let create = |name: &str| {
        let new = NewEntryType { name: name.into(), zone: "vip".into() };
        now(entry_types::create(&world.app, &world.owner, world.event.clone(), new))
    };
    create("VIP").unwrap();
    create("Press").unwrap();
    assert_eq!(code(create("VIP")), "entry_type_exists");
    assert_eq!(wrong_field(create("")), "name");
    let listed = now(entry_types::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!(listed.iter().map(|one| one.record.name.as_str()).collect::<Vec<_>>(), ["General", "VIP", "Press"]);
    // A phone calls each zone by the name of the first entry type that has it.
    let event = world.event.clone();
    let rules =
        now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.load_rules(&event, &[]))).unwrap();
    let names = rules.book.door().zone_names.into_iter().collect::<Vec<_>>();
    assert_eq!(names, [("general".to_owned(), "General".to_owned()), ("vip".to_owned(), "VIP".to_owned())]);
    world.is_consistent();
}

#[test]
fn an_entry_type_is_renamed_and_phones_call_its_zone_so() {
    let world = World::new();
    let new = NewEntryType { name: "VIP".into(), zone: "vip".into() };
    let vip = now(entry_types::create(&world.app, &world.owner, world.event.clone(), new)).unwrap().entry_type_id;
    let rename = |name: &str| {
        let patch = EntryTypePatch { name: Some(name.into()), ..EntryTypePatch::default() };
        now(entry_types::update(&world.app, &world.owner, world.event.clone(), vip.clone(), patch))
    };
    assert_eq!(code(rename("General")), "entry_type_exists");
    assert_eq!(wrong_field(rename(" ")), "name");
    assert_eq!(rename("Gold").unwrap().record.name, "Gold");
    let lines = world.ledger().len();
    rename("Gold").unwrap();
    assert_eq!(world.ledger().len(), lines, "the same name again changes nothing");
    let event = world.event.clone();
    let rules =
        now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.load_rules(&event, &[]))).unwrap();
    assert_eq!(rules.book.door().zone_names.get("vip").map(String::as_str), Some("Gold"));
    world.is_consistent();
}

#[test]
fn a_promoter_sees_their_own_lists() {
    let world = World::new();
    let promoter = world.member(Role::Promoter);
    let create = |name: &str, promoter_id| {
        let new = NewGuestList { name: name.into(), promoter_id };
        now(guest_lists::create(&world.app, &world.owner, world.event.clone(), new))
    };
    create("House", None).unwrap();
    world.pass(1);
    create("Nightshift", Some(promoter.user_id.clone())).unwrap();
    assert_eq!(code(create("House", None)), "guest_list_exists");
    assert_eq!(code(create(" hOUSE", None)), "guest_list_exists", "a file could not tell the two apart");
    let stranger = admit_core::ids::UserId::new("nobody").unwrap();
    assert_eq!(wrong_field(create("X", Some(stranger))), "promoter_id");
    let names = |who| {
        let lists = now(guest_lists::list(&world.app, who, world.event.clone())).unwrap();
        lists.into_iter().map(|list| list.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&world.owner), ["House", "Nightshift"]);
    assert_eq!(names(&promoter), ["Nightshift"]);
    world.is_consistent();
}
