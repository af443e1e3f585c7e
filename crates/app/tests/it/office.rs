//! Guests whom a member checks in in the organiser's app, without a phone.

use admit_app::caller::UserCaller;
use admit_app::devices::{self, PairCommand, RequestPairing};
use admit_app::error::Error;
use admit_app::events::{self, EventPatch, NewEvent};
use admit_app::guests::{self, CheckIn, Moment, What};
use admit_app::records::{GuestRecord, Role};
use admit_app::tickets::NewGuest;
use admit_core::decide::Reason;
use admit_core::event::EventStatus;
use admit_core::ids::{DeviceId, ScanId};
use admit_core::scan::Outcome;
use admit_core::wire::check_in::CheckInAnswer;

use crate::world::*;

fn guest(world: &World, name: &str, party: u32) -> GuestRecord {
    let new = NewGuest { name: name.into(), party_size: Some(party), ..NewGuest::default() };
    now(guests::create(&world.app, &world.owner, world.event.clone(), new, None, None)).unwrap().0
}

fn wish(id: &str, count: u32) -> CheckIn {
    CheckIn { scan_id: ScanId::new(id).unwrap(), gate_id: gate("main"), count, override_reason: None }
}

fn check_in_by(world: &World, by: &UserCaller, guest: &GuestRecord, wish: CheckIn) -> Result<CheckInAnswer, Error> {
    now(guests::check_in(&world.app, by, guest.guest_id.clone(), wish))
}

fn check_in(world: &World, guest: &GuestRecord, wish: CheckIn) -> Result<CheckInAnswer, Error> {
    check_in_by(world, &world.owner, guest, wish)
}

fn undo(world: &World, guest: &GuestRecord, id: &str) -> Result<u32, Error> {
    now(guests::undo_check_in(&world.app, &world.owner, guest.guest_id.clone(), ScanId::new(id).unwrap()))
}

fn story(world: &World, guest: &GuestRecord) -> Vec<Moment> {
    now(guests::timeline(&world.app, &world.owner, guest.guest_id.clone())).unwrap()
}

#[test]
fn a_guest_checked_in_from_the_office_counts_as_one_scanned_at_a_door() {
    let world = World::new();
    let ana = guest(&world, "Ana", 3);
    let answer = check_in(&world, &ana, wish("c1", 2)).unwrap();
    assert_eq!((answer.outcome, answer.opened, answer.persons, answer.last_at), (Outcome::Valid, true, 2, None));
    assert_eq!((world.occupancy().entered, world.occupancy().inside), (2, 2));
    assert_eq!(world.occupancy().gates[&gate("main")].entered, 2);
    let moment = story(&world, &ana).remove(0);
    assert_eq!((moment.what, moment.persons, moment.by_hand, moment.counts), (What::Entered, 2, true, true));
    assert_eq!((moment.by.as_deref(), moment.gate.as_deref()), (Some("Owner"), Some("main")));
    assert_eq!(moment.device.as_deref(), Some("Office"));
    assert_eq!(world.ledger().last().unwrap(), "guest_checked_in");
    world.is_consistent();
}

#[test]
fn a_door_that_lets_in_a_guest_of_the_office_again_makes_a_case() {
    let world = World::new();
    let ana = guest(&world, "Ana", 1);
    let code = world.ticket(ana.ticket_id.as_ref().unwrap()).0.barcode.unwrap();
    check_in(&world, &ana, wish("c1", 1)).unwrap();
    world.pass(60_000);
    world.phone("d1", "main").scan("s1", &code, "valid", at(60_000));
    assert_eq!((world.occupancy().entered, world.occupancy().over), (1, 1));
    assert_eq!(world.open(), ["double_entry"]);
    world.is_consistent();
}

#[test]
fn the_same_check_in_again_counts_once_and_its_id_stands_for_nothing_else() {
    let world = World::new();
    let (ana, bo) = (guest(&world, "Ana", 3), guest(&world, "Bo", 3));
    let answer = check_in(&world, &ana, wish("c1", 1)).unwrap();
    let ledger = world.ledger();
    assert_eq!(check_in(&world, &ana, wish("c1", 1)).unwrap(), answer);
    for (guest, other) in [(&ana, wish("c1", 2)), (&bo, wish("c1", 1))] {
        assert_eq!(code(check_in(&world, guest, other)), "scan_id_reused");
    }
    assert_eq!((world.ledger(), world.occupancy().entered), (ledger, 1));
    world.is_consistent();
}

#[test]
fn a_refusal_is_on_record_and_is_set_aside_with_a_reason_alone() {
    let world = World::new();
    let ana = guest(&world, "Ana", 1);
    check_in(&world, &ana, wish("c1", 1)).unwrap();
    world.pass(60_000);
    let refused = check_in(&world, &ana, wish("c2", 1)).unwrap();
    assert_eq!((refused.outcome, refused.reason), (Outcome::Duplicate, Some(Reason::AlreadyScanned)));
    assert_eq!((refused.opened, refused.persons, refused.last_gate.as_deref()), (false, 0, Some("main")));
    assert!(refused.last_at.is_some());
    assert_eq!(story(&world, &ana)[0].what, What::Refused { outcome: "duplicate".into() });
    assert_eq!(world.occupancy().entered, 1);
    world.pass(1_000);
    let set_aside = CheckIn { override_reason: Some("left by mistake".into()), ..wish("c3", 1) };
    let answer = check_in(&world, &ana, set_aside).unwrap();
    assert_eq!((answer.outcome, answer.opened, answer.persons), (Outcome::Duplicate, true, 1));
    assert_eq!((world.occupancy().entered, world.occupancy().over), (1, 1));
    world.is_consistent();
}

#[test]
fn more_persons_than_may_come_are_a_wrong_number_unless_there_is_a_reason() {
    let world = World::new();
    let ana = guest(&world, "Ana", 2);
    assert_eq!(wrong_field(check_in(&world, &ana, wish("c1", 3))), "count");
    assert_eq!(wrong_field(check_in(&world, &ana, wish("c1", 0))), "count");
    assert_eq!(world.occupancy().entered, 0);
    let with_reason = CheckIn { override_reason: Some("a child".into()), ..wish("c1", 3) };
    assert_eq!(check_in(&world, &ana, with_reason).unwrap().persons, 3);
    assert_eq!((world.occupancy().entered, world.occupancy().over), (2, 1));
    world.is_consistent();
}

#[test]
fn a_draft_checks_nobody_in() {
    let world = World::new();
    let draft = NewEvent { status: Some(EventStatus::Draft), gates: None, ..new_event("Draft") };
    let event = now(events::create(&world.app, &world.owner, draft)).unwrap().event_id;
    let new = NewGuest { name: "Ana".into(), ..NewGuest::default() };
    let ana = now(guests::create(&world.app, &world.owner, event, new, None, None)).unwrap().0;
    assert_eq!(code(check_in(&world, &ana, wish("c1", 1))), "event_not_live");
}

#[test]
fn an_event_that_ended_refuses_whom_the_office_checks_in() {
    let world = World::new();
    let ana = guest(&world, "Ana", 1);
    let patch = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), patch)).unwrap();
    let answer = check_in(&world, &ana, wish("c1", 1)).unwrap();
    assert_eq!((answer.reason, answer.opened), (Some(Reason::EventEnded), false));
    world.is_consistent();
}

#[test]
fn a_check_in_needs_a_gate_that_lets_in() {
    let world = World::new();
    let ana = guest(&world, "Ana", 1);
    for slug in ["out", "nowhere"] {
        let elsewhere = CheckIn { gate_id: gate(slug), ..wish("c1", 1) };
        assert_eq!(wrong_field(check_in(&world, &ana, elsewhere)), "gate_id");
    }
}

#[test]
fn an_undone_check_in_counts_nothing_and_the_guest_may_come_again() {
    let world = World::new();
    let ana = guest(&world, "Ana", 2);
    check_in(&world, &ana, wish("c1", 2)).unwrap();
    world.pass(1_000);
    assert_eq!(undo(&world, &ana, "c1").unwrap(), 2);
    assert_eq!((world.occupancy().entered, world.occupancy().inside), (0, 0));
    let ledger = world.ledger();
    assert_eq!(ledger.last().unwrap(), "check_in_undone");
    assert_eq!(undo(&world, &ana, "c1").unwrap(), 2);
    assert_eq!(world.ledger(), ledger);
    assert_eq!(code(undo(&world, &ana, "c9")), "no check_in");
    world.pass(1_000);
    assert!(check_in(&world, &ana, wish("c2", 2)).unwrap().opened);
    assert_eq!(world.occupancy().entered, 2);
    world.is_consistent();
}

#[test]
fn only_who_manages_guests_checks_in_from_the_office() {
    let world = World::new();
    let ana = guest(&world, "Ana", 1);
    for role in [Role::Promoter, Role::Door, Role::Viewer] {
        assert_eq!(code(check_in_by(&world, &world.member(role), &ana, wish("c1", 1))), "forbidden");
    }
    assert!(check_in_by(&world, &world.member(Role::Manager), &ana, wish("c1", 1)).unwrap().opened);
}

#[test]
fn no_phone_takes_the_offices_name() {
    let world = World::new();
    let device_id = DeviceId::new("admit:office").unwrap();
    let wish = RequestPairing { device_id: device_id.clone(), name: None, device_type: None };
    assert_eq!(wrong_field(now(devices::request_pairing(&world.app, wish))), "device_id");
    let main = gate("main");
    let token = now(admit_app::pairing_tokens::create(&world.app, &world.owner, world.event.clone(), main, None));
    let pairing_token = token.unwrap().pairing_token;
    let command = PairCommand { pairing_token, device_id, name: None, device_type: None, api_key: None };
    assert_eq!(wrong_field(now(devices::pair(&world.app, command))), "device_id");
}
