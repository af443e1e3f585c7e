//! The review queue: a person's decisions are facts, and an incident whose cause changed opens again.

use admit_app::devices;
use admit_app::incidents::{self, Resolve, ShownIncident};
use admit_app::ports::IncidentFilter;
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
    let shown = incidents::resolve(&world.app, &world.owner, incident.incident_id.clone(), said);
    now(shown).map(|shown| shown.incident)
}

/// The incidents that a person decided and that are not open again.
fn decided(world: &World) -> Vec<ShownIncident> {
    let filter = IncidentFilter { decided: true, ..IncidentFilter::default() };
    now(incidents::list(&world.app, &world.owner, world.event.clone(), filter, whole_page())).unwrap().items
}

/// The decisions about an incident's scans, as (device, scan, decision).
fn words(shown: &ShownIncident) -> Vec<(String, String, &'static str)> {
    let word = |one: &admit_app::records::DecisionRecord| {
        (one.review.device_id.to_string(), one.review.scan_id.to_string(), one.review.decision.as_str())
    };
    shown.decided.iter().map(word).collect()
}

fn word(device: &str, scan: &str, decision: &'static str) -> (String, String, &'static str) {
    (device.to_owned(), scan.to_owned(), decision)
}

/// A ticket for one person that two phones let in.
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
    // A third entry with the same ticket changes the finding.
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
    // The incident's cause is gone, so no further decision is possible. Earlier decisions are listed and can be taken
    // back.
    let again = resolve(&world, &incident, said(Some(Decision::Exclude), &[("p", "s1")]));
    assert_eq!(code(again), "incident_cleared");
    let listed = decided(&world);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].incident.incident_id, incident.incident_id);
    assert_eq!(words(&listed[0]), [word("q", "s2", "exclude")]);
    assert_eq!((listed[0].decided[0].note.as_str(), &listed[0].decided[0].user_id), ("looked", &world.owner.user_id));
    let back = resolve(&world, &incident, said(Some(Decision::Restore), &[("q", "s2")])).unwrap();
    assert_eq!(
        (back.status, back.digest),
        (IncidentStatus::Open, incident.digest),
        "the same cause is no answered one"
    );
    assert_eq!(back.resolution.unwrap().decision, "restore");
    assert_eq!((world.occupancy(), world.open()), (counted, vec!["double_entry".to_owned()]));
    assert_eq!(decided(&world), []);
    world.is_consistent();
    // A second restore finds no decision to take back, and changes nothing.
    let ledger = world.ledger();
    resolve(&world, &incident, said(Some(Decision::Restore), &[("q", "s2")])).unwrap();
    assert_eq!(world.ledger(), ledger);
    assert_eq!(ledger.iter().filter(|action| *action == "incident_resolved").count(), 2);
}

#[test]
fn restore_without_scans_takes_back_all_that_is_decided_and_the_answer() {
    let world = World::new();
    let incident = double_entry(&world);
    world.phone("r", "main").scan("s3", "A", "valid", at(120_000));
    let counted = world.occupancy();
    let incident = world.incident(incident.kind.as_str());
    // One of the two extra entries is excluded. The cause changed, so the incident is open again and shows the
    // decision.
    let open = resolve(&world, &incident, said(Some(Decision::Exclude), &[("q", "s2")])).unwrap();
    assert_eq!(open.status, IncidentStatus::Open);
    let shown = now(incidents::show(&world.app, &world.owner, incident.incident_id.clone())).unwrap();
    assert_eq!(words(&shown), [word("q", "s2", "exclude")]);
    assert_eq!(decided(&world), [], "it waits in the queue");
    resolve(&world, &incident, said(Some(Decision::Exclude), &[("r", "s3")])).unwrap();
    assert_eq!(words(&decided(&world)[0]), [word("q", "s2", "exclude"), word("r", "s3", "exclude")]);
    let back = resolve(&world, &incident, said(Some(Decision::Restore), &[])).unwrap();
    assert_eq!((back.status, back.digest, world.occupancy()), (IncidentStatus::Open, incident.digest, counted));
    world.is_consistent();
    // A note can be taken back, too: it had resolved this cause.
    resolve(&world, &incident, said(None, &[])).unwrap();
    assert_eq!((world.open(), decided(&world).len()), (vec![], 1));
    let back = resolve(&world, &incident, said(Some(Decision::Restore), &[])).unwrap();
    assert_eq!((back.status, world.open()), (IncidentStatus::Open, vec!["double_entry".to_owned()]));
    world.is_consistent();
}

#[test]
fn what_cleared_by_itself_leaves_nothing_to_take_back() {
    let world = World::new();
    // Staff let in a code that is in no list. The ticket is imported later.
    world.phone("p", "main").scan("s1", "A", "valid", at(0));
    let incident = world.incident("admitted_in_error");
    world.tickets(&["A"]);
    assert_eq!((world.open(), decided(&world)), (vec![], vec![]));
    assert_eq!(code(resolve(&world, &incident, said(Some(Decision::Restore), &[]))), "incident_cleared");
    let named = resolve(&world, &incident, said(Some(Decision::Restore), &[("p", "s1")]));
    assert_eq!(code(named), "incident_cleared");
    world.is_consistent();
}

/// `devices::accept` counts all waiting scans of a revoked device. `restore` takes one of them back, and
/// `devices::take_back` all that are accepted.
#[test]
fn an_accepted_log_is_taken_back_scan_by_scan_or_at_once() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    let id = phone.caller.device_id.clone();
    now(devices::revoke(&world.app, &world.owner, id.clone(), None)).unwrap();
    for (scan_id, code) in [("s1", "A"), ("s2", "B"), ("s3", "C")] {
        assert!(phone.upload(scan_id, scan_id, code, "valid", at(0)).is_err(), "kept, and refused");
    }
    assert_eq!((world.occupancy().inside, world.open().len()), (0, 3));
    // These scans are in S1's form: the device's own bearer token proves them.
    assert_eq!(now(devices::accept(&world.app, &world.owner, id.clone())).unwrap().counted, 3);
    assert_eq!((world.occupancy().inside, world.open()), (3, vec![]));
    let listed = decided(&world);
    assert_eq!(listed.len(), 3, "each is listed with who accepted it");
    assert!(listed.iter().all(|one| one.incident.resolution.as_ref().unwrap().user_id == world.owner.user_id));
    let first = &listed[0].incident;
    assert_eq!(resolve(&world, first, said(Some(Decision::Restore), &[])).unwrap().status, IncidentStatus::Open);
    assert_eq!((world.occupancy().inside, decided(&world).len()), (2, 2));
    world.is_consistent();
    // One act takes back the others. The scan that a person excluded stays excluded.
    let excluded = &listed[1].incident;
    resolve(&world, excluded, said(Some(Decision::Restore), &[])).unwrap();
    let scan = listed[1].decided[0].review.scan_id.to_string();
    resolve(&world, excluded, said(Some(Decision::Exclude), &[("p", &scan)])).unwrap();
    assert_eq!(now(devices::take_back(&world.app, &world.owner, id.clone())).unwrap(), 1);
    assert_eq!((world.occupancy().inside, world.open().len()), (0, 2));
    assert_eq!(world.ledger().last().unwrap(), "scans_taken_back");
    world.is_consistent();
    let ledger = world.ledger();
    assert_eq!(now(devices::take_back(&world.app, &world.owner, id.clone())).unwrap(), 0);
    assert_eq!(world.ledger(), ledger);
    assert_eq!(code(now(devices::take_back(&world.app, &world.member(Role::Viewer), id))), "forbidden");
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
        now(incidents::show(&world.app, &world.owner, incident.incident_id)).unwrap().incident.status,
        IncidentStatus::Resolved
    );
}
