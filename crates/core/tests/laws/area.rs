//! Tests of which gates lead to the same area, and how many persons are in it.

use std::collections::BTreeMap;

use admit_core::event::{EventRules, ReEntry};
use admit_core::gate::{Direction, GateRules, same_area};
use admit_core::ids::GateId;
use admit_core::occupancy::{GateFlow, Occupancy};

use crate::case::{at, event};

fn id(gate: &str) -> GateId {
    GateId::new(gate).unwrap()
}

fn gate(zones: &[&str], capacity: Option<u32>) -> GateRules {
    GateRules {
        name: "A gate".into(),
        zones: zones.iter().map(|zone| (*zone).to_owned()).collect(),
        direction: Direction::Both,
        capacity,
        names_on_devices: true,
        walk_ins: false,
        entry_rules: Vec::new(),
    }
}

/// The gates of an event. North and south lead to the hall, south also to the bar. The yard has no zone, the vault has
/// one of its own.
fn venue() -> BTreeMap<GateId, GateRules> {
    BTreeMap::from([
        (id("north"), gate(&["hall"], Some(100))),
        (id("south"), gate(&["bar", "hall"], None)),
        (id("bar"), gate(&["bar"], Some(100))),
        (id("yard"), gate(&[], Some(100))),
        (id("vault"), gate(&["vault"], Some(100))),
    ])
}

fn flows(flows: &[(&str, i64, i64)]) -> Occupancy {
    let gates = flows
        .iter()
        .map(|(gate, entered, exited)| (id(gate), GateFlow { entered: *entered, exited: *exited, without_ticket: 0 }));
    Occupancy { gates: gates.collect(), ..Occupancy::default() }
}

#[test]
fn gates_that_share_a_zone_lead_to_the_same_area_and_every_gate_to_its_own() {
    let venue = venue();
    let same = |one: &str, other: &str| same_area(&id(one), &id(other), |gate| venue.get(gate));
    assert!(same("north", "south") && same("south", "north"));
    assert!(same("south", "bar") && !same("north", "bar"), "a zone in between does not join two areas");
    assert!(!same("north", "vault"));
    assert!(same("yard", "yard") && !same("yard", "north"), "a gate without a zone has its own area");
    assert!(
        same("gone", "gone") && !same("gone", "north") && !same("north", "gone"),
        "a gate nobody knows has no zones"
    );
}

#[test]
fn in_an_area_are_those_who_went_in_by_any_of_its_gates_less_those_who_came_out() {
    let venue = venue();
    let counted = flows(&[("north", 40, 5), ("south", 30, 10), ("bar", 7, 0), ("yard", 3, 0), ("vault", 0, 2)]);
    let inside = |gate: &str| counted.area_inside(0, &id(gate), |gate| venue.get(gate));
    assert_eq!(inside("north"), Some(40 - 5 + 30 - 10));
    assert_eq!(inside("bar"), Some(30 - 10 + 7));
    assert_eq!(inside("yard"), Some(3));
    assert_eq!(inside("vault"), Some(0), "more came out than went in: exits of those who came by another way");
    assert_eq!(inside("south"), None, "no capacity to measure it by");
    assert_eq!(inside("gone"), None);
}

#[test]
fn a_daily_events_area_is_empty_when_a_day_begins_unless_people_are_scanned_out_of_it() {
    let venue = venue();
    let since = |counted: &Occupancy, event: &EventRules, now| {
        let base = counted.area_base(&id("north"), |gate| venue.get(gate), Some(event), now, &[]);
        assert_eq!(base.persons, 0);
        base.until.map(|until| until.plus_ms(1))
    };
    let nobody_left = flows(&[("north", 40, 0), ("south", 30, 0), ("vault", 9, 9)]);
    let daily = event(ReEntry::Daily);
    assert_eq!(since(&nobody_left, &daily, at("19:00")), Some(at("06:00")));
    assert_eq!(since(&nobody_left, &daily, at("19:10")), Some(at("19:10")), "the second day begins");
    assert_eq!(since(&nobody_left, &daily, at("05:59")), None, "before the first day");
    assert_eq!(since(&nobody_left, &event(ReEntry::Never), at("20:00")), None);
    let one_left = flows(&[("north", 40, 0), ("south", 30, 1)]);
    assert_eq!(since(&one_left, &daily, at("20:00")), None, "by another gate of the same area");
}
