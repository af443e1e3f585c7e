//! The review queue: a person's decisions are facts, and a changed cause opens again.

use admit_app::incidents::{self, Resolve};
use admit_app::records::{IncidentRecord, IncidentStatus, Role};
use admit_core::ids::{DeviceId, ScanId};
use admit_core::review::Decision;

use crate::world::*;

fn scans(ids: &[(&str, &str)]) -> Vec<(DeviceId, ScanId)> {
    ids.iter().map(|(device, scan)| (DeviceId::new(*device).unwrap(), ScanId::new(*scan).unwrap())).collect()
}

fn said(decision: Option<Decision>, ids: &[(&str, &str)]) -> Resolve {
    Resolve { decision, scans: scans(ids), note: "looked".into() }
}

fn resolve(world: &World, incident: &IncidentRecord, said: Resolve) -> Result<IncidentRecord, admit_app::error::Error> {
    now(incidents::resolve(&world.app, &world.owner, incident.incident_id.clone(), said))
}

/// A ticket for one, let in on two phones.
fn double_entry(world: &World) -> IncidentRecord {
    world.tickets(&["A"]);
    world.phone("p", "main").scan("s1", "A", "valid", at(0));
    world.phone("q", "main").scan("s2", "A", "valid", at(60_000));
    world.incident("double_entry")
}

#[test]
fn a_note_resolves_exactly_what_was_found_and_counts_nothing_anew() {
    let world = World::new();
    let incident = double_entry(&world);
    let before = world.occupancy();
    let resolved = resolve(&world, &incident, said(None, &[])).unwrap();
    assert_eq!(resolved.status, IncidentStatus::Resolved);
    let resolution = resolved.resolution.unwrap();
    assert_eq!((resolution.decision.as_str(), resolution.note.as_str()), ("note", "looked"));
    assert_eq!((world.occupancy(), world.open()), (before, vec![]));
    world.is_consistent();
    // A third person on the same ticket is another finding.
    world.phone("r", "main").scan("s3", "A", "valid", at(120_000));
    assert_eq!(world.open(), ["double_entry"]);
    assert_eq!(world.incident("double_entry").incident_id, incident.incident_id);
    world.is_consistent();
}

#[test]
fn exclude_uncounts_a_person_and_restore_takes_that_back() {
    let world = World::new();
    let incident = double_entry(&world);
    let counted = world.occupancy();
    assert_eq!((counted.inside, counted.inside_over, counted.over), (1, 1, 1));
    let cleared = resolve(&world, &incident, said(Some(Decision::Exclude), &[("q", "s2")])).unwrap();
    assert_eq!(cleared.status, IncidentStatus::Cleared);
    assert_eq!((world.occupancy().inside, world.occupancy().over, world.open()), (1, 0, vec![]));
    world.is_consistent();
    let gone = resolve(&world, &incident, said(Some(Decision::Restore), &[("q", "s2")]));
    assert_eq!(code(gone), "incident_cleared");
    assert_eq!(world.ledger().iter().filter(|action| *action == "incident_resolved").count(), 1);
}

#[test]
fn excluding_the_first_makes_the_second_the_entry() {
    let world = World::new();
    let incident = double_entry(&world);
    resolve(&world, &incident, said(Some(Decision::Exclude), &[("p", "s1")])).unwrap();
    assert_eq!((world.occupancy().inside, world.occupancy().over), (1, 0));
    world.is_consistent();
}

#[test]
fn what_is_said_must_fit_the_incident() {
    let world = World::new();
    let incident = double_entry(&world);
    world.tickets(&["B"]);
    world.phone("r", "main").scan("s9", "B", "valid", at(0));
    let field = |said| wrong_field(resolve(&world, &incident, said));
    assert_eq!(field(said(None, &[("p", "s1")])), "scans");
    assert_eq!(field(said(Some(Decision::Exclude), &[])), "scans");
    assert_eq!(field(said(Some(Decision::Exclude), &[("p", "s1"), ("r", "s9")])), "scans[1]", "another ticket's");
    assert_eq!(field(said(Some(Decision::Exclude), &[("p", "none")])), "scans[0]");
    assert_eq!(field(Resolve { note: "x".repeat(2_001), ..said(None, &[]) }), "note");
    assert_eq!(world.open(), ["double_entry"]);
    let none = incidents::resolve(&world.app, &world.owner, "none".parse().unwrap(), said(None, &[]));
    assert_eq!(code(now(none)), "no incident");
    for role in [Role::Promoter, Role::Door, Role::Viewer] {
        let member = world.member(role);
        let refused = incidents::resolve(&world.app, &member, incident.incident_id.clone(), said(None, &[]));
        assert_eq!(code(now(refused)), "forbidden", "{role}");
    }
}

#[test]
fn the_queue_is_listed_by_status() {
    let world = World::new();
    let incident = double_entry(&world);
    let count = |status| {
        let page = incidents::list(&world.app, &world.owner, world.event.clone(), status, whole_page());
        now(page).unwrap().items.len()
    };
    assert_eq!((count(Some(IncidentStatus::Open)), count(Some(IncidentStatus::Resolved)), count(None)), (1, 0, 1));
    resolve(&world, &incident, said(None, &[])).unwrap();
    assert_eq!((count(Some(IncidentStatus::Open)), count(Some(IncidentStatus::Resolved)), count(None)), (0, 1, 1));
    assert_eq!(
        now(incidents::show(&world.app, &world.owner, incident.incident_id)).unwrap().status,
        IncidentStatus::Resolved
    );
}
