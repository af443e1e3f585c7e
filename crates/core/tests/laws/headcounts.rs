//! People without a ticket (decision 037): staff count them, separately from tickets, in any order of facts.

use std::collections::BTreeMap;

use admit_core::event::{EventRules, ReEntry};
use admit_core::gate::{Direction, GateRules};
use admit_core::ids::{EventId, GateId, TicketId};
use admit_core::incident::{IncidentKind, Subject};
use admit_core::occupancy::{AreaBase, GateFlow, Occupancy, Recount, WithoutTicket};
use admit_core::reduce::{LeftOut, Reduced};
use admit_core::review::Decision;
use admit_core::scan::{Headcount, PersonClass};
use admit_core::time::Timestamp;

use crate::case::{Case, at, device, event, gate, headcount, kinds, revert, scan_id};

const STAFF: Headcount = Headcount::Change { class: PersonClass::Staff, delta: 3 };

fn subject(device_id: &str, id: &str) -> TicketId {
    Headcount::subject_id(&EventId::new("event").unwrap(), &device(device_id), &scan_id(id)).unwrap()
}
fn of(case: &Case, device_id: &str, id: &str) -> Reduced {
    case.reduce(&Subject::Ticket(subject(device_id, id)))
}
fn counted(reduced: &Reduced) -> Option<Headcount> {
    reduced.verdicts.iter().find_map(|verdict| verdict.headcount)
}

#[test]
fn people_without_a_ticket_are_inside_by_class_and_gate_and_in_no_figure_of_tickets() {
    let case = Case::new(ReEntry::Never).scan(headcount("a", "1", at("19:00"), STAFF));
    let reduced = of(&case, "a", "1");
    let occupancy = Occupancy::of(&reduced);
    let flow = GateFlow { without_ticket: 3, ..GateFlow::default() };
    let expected = Occupancy {
        without_ticket: WithoutTicket { staff: 3, ..WithoutTicket::default() },
        gates: BTreeMap::from([(gate("north"), flow)]),
        ..Occupancy::default()
    };
    assert_eq!(occupancy, expected);
    assert_eq!((reduced.state.persons(), reduced.effective.len(), kinds(&reduced)), (0, 0, vec![]));
}

#[test]
fn an_undo_takes_back_all_of_a_headcount_or_a_part() {
    for (keep, stays) in [(0, None), (1, Some(-1)), (2, Some(-2)), (9, Some(-2))] {
        let left = Headcount::Change { class: PersonClass::Crew, delta: -2 };
        let case = Case::new(ReEntry::Never)
            .scan(headcount("a", "1", at("19:00"), left))
            .scan(revert("a", "2", at("19:01"), "-", ("a", "1")).keep(keep).picked(&subject("a", "1")));
        let expected = stays.map(|delta| Headcount::Change { class: PersonClass::Crew, delta });
        assert_eq!(counted(&of(&case, "a", "1")), expected, "{keep} stay");
    }
    let case = Case::new(ReEntry::Never)
        .scan(headcount("a", "1", at("19:00"), Headcount::Recount { inside: 412 }))
        .scan(revert("a", "2", at("19:01"), "-", ("a", "1")).picked(&subject("a", "1")));
    assert_eq!(Recount::of(&of(&case, "a", "1").verdicts), []);
}

#[test]
fn practice_and_unproven_headcounts_count_nothing_and_practice_opens_no_case() {
    let practice = Case::new(ReEntry::Never).scan(headcount("a", "1", at("21:00"), STAFF).practice());
    let reduced = of(&practice, "a", "1");
    assert_eq!((reduced.verdicts[0].left_out, kinds(&reduced)), (Some(LeftOut::Practice), vec![]));
    let unproven = Case::new(ReEntry::Never).scan(headcount("a", "1", at("21:00"), STAFF).unverified());
    let reduced = of(&unproven, "a", "1");
    assert_eq!((Occupancy::of(&reduced), kinds(&reduced)), (Occupancy::default(), vec![IncidentKind::UnverifiedScan]));
    let accepted = unproven.review("a", "1", Decision::Accept);
    assert_eq!(Occupancy::of(&of(&accepted, "a", "1")).without_ticket.staff, 3);
}

#[test]
fn a_recount_of_an_implausible_time_holds_nothing_and_people_of_one_are_counted_all_the_same() {
    let far = at("19:00").plus_ms(-40 * 86_400_000);
    let recount = Case::new(ReEntry::Never).scan(headcount("a", "1", far, Headcount::Recount { inside: 9 }));
    let reduced = of(&recount, "a", "1");
    assert_eq!((Recount::of(&reduced.verdicts), kinds(&reduced)), (vec![], vec![IncidentKind::ImplausibleTime]));
    let staff = Case::new(ReEntry::Never).scan(headcount("a", "1", far, STAFF));
    assert_eq!(Occupancy::of(&of(&staff, "a", "1")).without_ticket.staff, 3);
}

// ------------------------------------------------------------------------------------------------------------- areas

fn id(gate: &str) -> GateId {
    GateId::new(gate).unwrap()
}
fn leads_to(zones: &[&str]) -> GateRules {
    GateRules {
        name: "A gate".into(),
        zones: zones.iter().map(|zone| (*zone).to_owned()).collect(),
        direction: Direction::Both,
        capacity: Some(500),
        names_on_devices: true,
        walk_ins: false,
        entry_rules: Vec::new(),
    }
}
fn venue() -> BTreeMap<GateId, GateRules> {
    [("north", &["hall"][..]), ("south", &["hall"]), ("wide", &["bar", "hall"]), ("yard", &[]), ("shed", &[])]
        .map(|(gate, zones)| (id(gate), leads_to(zones)))
        .into()
}
fn recount(gate: &str, device_id: &str, time: Timestamp, inside: u32) -> Recount {
    Recount { gate_id: id(gate), at: time, device_id: device(device_id), scan_id: scan_id("1"), inside }
}
fn newest(gate: &str, recounts: &[Recount]) -> Option<u32> {
    let venue = venue();
    Recount::newest(recounts, &id(gate), |gate| venue.get(gate)).map(|recount| recount.inside)
}

#[test]
fn a_recount_holds_at_its_gate_and_at_those_that_admit_the_same_zones() {
    let recounts = [recount("north", "a", at("20:00"), 400), recount("yard", "a", at("20:00"), 7)];
    assert_eq!(newest("north", &recounts), Some(400));
    assert_eq!(newest("south", &recounts), Some(400));
    assert_eq!(newest("wide", &recounts), None, "it leads to the bar as well");
    assert_eq!((newest("yard", &recounts), newest("shed", &recounts)), (Some(7), None), "each its own area");
}

#[test]
fn the_newest_recount_holds_whatever_order_they_come_in() {
    let mut recounts = [
        recount("north", "a", at("20:00"), 1),
        recount("south", "b", at("20:05"), 2),
        recount("north", "c", at("20:05"), 3),
        recount("south", "a", at("20:05"), 4),
    ];
    for _ in 0..recounts.len() {
        recounts.rotate_left(1);
        assert_eq!(newest("north", &recounts), Some(3), "of one time the last by device");
    }
}

#[test]
fn an_area_is_counted_on_from_the_recount_or_from_the_beginning_of_the_day_whichever_is_later() {
    let venue = venue();
    let base = |event: &EventRules, now, recounts: &[Recount]| {
        Occupancy::default().area_base(&id("north"), |gate| venue.get(gate), Some(event), now, recounts)
    };
    let (plain, daily) = (event(ReEntry::Never), event(ReEntry::Daily));
    let early = [recount("north", "a", at("19:00"), 400)];
    let counted = AreaBase { until: Some(at("19:00")), persons: 400 };
    assert_eq!(base(&plain, at("20:00"), &[]), AreaBase::default());
    assert_eq!(base(&plain, at("20:00"), &early), counted);
    assert_eq!(base(&daily, at("19:05"), &early), counted);
    let begun = AreaBase { until: Some(at("19:10").plus_ms(-1)), persons: 0 };
    assert_eq!(base(&daily, at("20:00"), &early), begun, "a day began at 19:10");
    let late = [recount("north", "a", at("19:10"), 12)];
    assert_eq!(base(&daily, at("20:00"), &late), AreaBase { until: Some(at("19:10")), persons: 12 });
}

#[test]
fn an_area_holds_its_base_and_whoever_moved_since_with_a_ticket_or_without() {
    let venue = venue();
    let flow = |entered, exited, without_ticket| GateFlow { entered, exited, without_ticket };
    let since = Occupancy {
        gates: BTreeMap::from([
            (id("north"), flow(5, 1, 2)),
            (id("south"), flow(0, 0, -1)),
            (id("yard"), flow(9, 0, 9)),
        ]),
        ..Occupancy::default()
    };
    assert_eq!(since.area_inside(400, &id("north"), |gate| venue.get(gate)), Some(400 + 5 - 1 + 2 - 1));
    assert_eq!(since.area_persons(-30, &id("north"), |gate| venue.get(gate)), -25);
    assert_eq!(since.area_inside(-30, &id("north"), |gate| venue.get(gate)), Some(0));
}
