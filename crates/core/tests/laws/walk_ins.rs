//! Guests added at the door (decision 036). Their ticket exists as soon as the fact does, stored or not.

use admit_core::event::ReEntry;
use admit_core::ids::{EventId, TicketId};
use admit_core::incident::{IncidentKind, Severity, Subject};
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{LeftOut, Reduced};
use admit_core::review::Decision;
use admit_core::rule::{Change, Effective, GateChange};
use admit_core::scan::{Outcome, WalkIn};

use crate::case::{Case, at, cause, device, entry, exit, gate, kinds, revert, scan_id, verdict, walk_in};

fn venue(mode: ReEntry) -> Case {
    let mut case = Case::new(mode);
    case.rule(Effective::Start, Change::Gate(gate("north"), GateChange::WalkIns(true)));
    case
}
fn ticket(device_id: &str, id: &str) -> TicketId {
    WalkIn::ticket_id(&EventId::new("event").unwrap(), &device(device_id), &scan_id(id)).unwrap()
}
fn of(case: &Case, ticket_id: &TicketId) -> Reduced {
    case.reduce(&Subject::Ticket(ticket_id.clone()))
}

#[test]
fn a_guest_added_at_the_door_is_in_and_counts_as_one_of_them() {
    let case = venue(ReEntry::Never).scan(walk_in("a", "1", at("19:00"), "general", 3));
    let reduced = of(&case, &ticket("a", "1"));
    assert_eq!((reduced.state.within, reduced.state.over, kinds(&reduced)), (3, 0, vec![]));
    let occupancy = Occupancy::of(&reduced);
    assert_eq!((occupancy.inside, occupancy.walk_ins, occupancy.subjects), (3, 3, 1));
}

/// The server stores the ticket some time after the scan. The scan's result must not change then.
#[test]
fn whether_the_ticket_was_stored_yet_makes_no_difference() {
    let id = ticket("a", "1");
    let bare = venue(ReEntry::AfterExit)
        .scan(walk_in("a", "1", at("19:00"), "general", 2))
        .scan(exit("b", "2", at("19:30"), "-").count(2).picked(&id))
        .scan(entry("c", "3", at("20:00"), "-").count(2).picked(&id))
        .scan(entry("d", "4", at("20:05"), "-").picked(&id));
    let mut stored = bare.clone();
    stored.rules_of(&id, WalkIn { zone: "general".into(), party: 2, name_digest: [0; 32] }.rules());
    let (bare, stored) = (of(&bare, &id), of(&stored, &id));
    assert_eq!(bare, stored);
    assert_eq!((bare.state.inside_within, bare.state.inside_over), (2, 1));
    assert_eq!(kinds(&bare), [IncidentKind::DoubleEntry], "a third person on a ticket for two");
}

#[test]
fn what_is_undone_is_not_in_and_the_ticket_stays_good() {
    let id = ticket("a", "1");
    let case = venue(ReEntry::Never)
        .scan(walk_in("a", "1", at("19:00"), "general", 2))
        .scan(revert("a", "2", at("19:01"), "-", ("a", "1")).picked(&id))
        .scan(entry("b", "3", at("19:10"), "-").count(2).picked(&id));
    let reduced = of(&case, &id);
    assert_eq!((reduced.state.within, reduced.state.over, kinds(&reduced)), (2, 0, vec![]));
    assert_eq!(Occupancy::of(&reduced).walk_ins, 0, "they came in by their ticket");
}

#[test]
fn practice_and_an_unproven_author_add_nobody_until_a_person_accepts_it() {
    let id = ticket("a", "1");
    let made = || walk_in("a", "1", at("17:30"), "general", 1);
    for (scan, why) in [(made().practice(), LeftOut::Practice), (made().unverified(), LeftOut::Unverified)] {
        let case = venue(ReEntry::Never).scan(scan);
        let reduced = of(&case, &id);
        assert_eq!((verdict(&reduced, "a", "1").left_out, reduced.state.within), (Some(why), 0));
        assert_eq!((reduced.counted_walk_in(), Occupancy::of(&reduced).walk_ins), (None, 0));
        let accepted = of(&case.review("a", "1", Decision::Accept), &id);
        assert_eq!((accepted.state.within, accepted.counted_walk_in().is_some()), (1, true));
    }
}

#[test]
fn beyond_the_number_and_at_a_gate_that_adds_nobody_they_count_and_a_person_is_told() {
    let id = ticket("a", "1");
    let made = || walk_in("a", "1", at("19:00"), "general", 1);
    for scan in [made().overridden(Outcome::Valid), made().gate("south")] {
        let reduced = of(&venue(ReEntry::Never).scan(scan), &id);
        assert_eq!((reduced.state.within, kinds(&reduced)), (1, vec![IncidentKind::WalkInsOver]));
        assert_eq!(cause(&reduced, IncidentKind::WalkInsOver).unwrap().kind.severity(), Severity::Low);
    }
    let undone = venue(ReEntry::Never)
        .scan(made().gate("south"))
        .scan(revert("a", "2", at("19:01"), "-", ("a", "1")).picked(&id));
    assert_eq!(kinds(&of(&undone, &id)), [], "nobody is in by it");
}
