//! Derived rows that are lost or wrong can be rebuilt from the facts. After a crash a batch is stored completely or not
//! at all.

use std::sync::atomic::Ordering;

use admit_app::ports::{Scope, write};
use admit_app::records::IncidentStatus;
use admit_app::scans::rebuild;
use admit_core::reduce::LeftOut;
use admit_core::scan::Digest;

use super::*;

#[test]
fn damage_is_found_and_mended_even_where_the_digest_looks_right() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "A", "valid", at(1_000));
    let (event, organization) = (world.event.clone(), world.owner.organization_id.clone());
    let key = format!("ticket:{}", ids[0]);
    let right = world.occupancy();
    now(write(&*world.app.store, Scope::event(&organization, &event), {
        let event = event.clone();
        move |tx| {
            let mut state = tx.states(&event, std::slice::from_ref(&key))?.remove(0);
            let verdicts = tx.verdicts(&event, &key)?;
            state.effective.clear();
            state.occupancy = Default::default();
            tx.put_states(&event, &[(state, verdicts)])?;
            tx.set_occupancy(&event, &Default::default(), 1)?;
            tx.set_flow(&event, &[])?;
            let mut incidents = tx.all_incidents(&event)?;
            for incident in &mut incidents {
                incident.status = IncidentStatus::Resolved;
            }
            assert!(!incidents.is_empty());
            tx.put_incidents(&incidents)
        }
    }))
    .unwrap();
    let found = now(rebuild::check(&world.app, &organization, &event)).unwrap();
    assert_eq!(found.lines.len(), 4, "{:?}", found.lines);
    assert_eq!(now(rebuild::rebuild(&world.app, &organization, &event)).unwrap(), 1);
    assert_eq!((world.occupancy(), world.open()), (right, vec!["double_entry".to_owned()]));
    world.is_consistent();
}

#[test]
fn a_scan_marked_as_waiting_that_does_not_is_found() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    world.phone("p", "main").scan("s1", "A", "valid", at(0));
    let (event, organization) = (world.event.clone(), world.owner.organization_id.clone());
    let key = format!("ticket:{}", ids[0]);
    now(write(&*world.app.store, Scope::event(&organization, &event), {
        let event = event.clone();
        move |tx| {
            let (state, verdicts) = tx.judged_states(&event, std::slice::from_ref(&key))?.remove(0);
            let mut marked = verdicts.clone();
            (marked[0].left_out, marked[0].digest) = (Some(LeftOut::Unverified), Some(Digest([1; 32])));
            tx.put_states(&event, &[(state.clone(), marked)])?;
            // Simulates a write that stored the verdicts without removing the mark of the waiting scan.
            tx.insert_states(&event, &[(state, verdicts)])
        }
    }))
    .unwrap();
    let found = now(rebuild::check(&world.app, &organization, &event)).unwrap();
    assert_eq!(found.lines, ["waiting scans: stored 1, recomputed 0"]);
    now(rebuild::rebuild(&world.app, &organization, &event)).unwrap();
    world.is_consistent();
}

#[test]
fn a_mark_of_something_nothing_is_known_of_is_found_and_goes() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    world.phone("p", "main").scan("s1", "A", "valid", at(0));
    let (event, organization) = (world.event.clone(), world.owner.organization_id.clone());
    let key = format!("ticket:{}", ids[0]);
    now(write(&*world.app.store, Scope::event(&organization, &event), {
        let event = event.clone();
        move |tx| {
            let (mut state, mut verdicts) = tx.judged_states(&event, std::slice::from_ref(&key))?.remove(0);
            state.subject_key = "ticket:gone".into();
            (verdicts[0].left_out, verdicts[0].digest) = (Some(LeftOut::Unverified), Some(Digest([1; 32])));
            tx.put_states(&event, &[(state.clone(), verdicts)])?;
            // Simulates a write that removed the verdicts without removing the mark of the waiting scan.
            tx.insert_states(&event, &[(state, Vec::new())])
        }
    }))
    .unwrap();
    let found = now(rebuild::check(&world.app, &organization, &event)).unwrap();
    assert_eq!(found.lines, ["waiting scans: stored 1, recomputed 0"]);
    now(rebuild::rebuild(&world.app, &organization, &event)).unwrap();
    world.is_consistent();
}

#[test]
fn a_crash_before_any_statement_leaves_nothing_and_the_next_try_everything() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let before = (head(&world), world.occupancy(), world.ledger());
    let mut crashes = 0;
    loop {
        world.dies_in.store(crashes, Ordering::SeqCst);
        let answer = phone.upload("b", "s", "A", "valid", at(0));
        let died = world.dies_in.swap(-1, Ordering::SeqCst) == 0;
        if !died {
            assert!(answer.is_ok());
            break;
        }
        world.store.crash();
        if answer.is_ok() {
            break;
        }
        assert_eq!((head(&world), world.occupancy(), world.ledger()), before, "after {crashes} statements");
        crashes += 1;
    }
    assert!(crashes > 5, "{crashes}");
    assert_eq!(world.occupancy().inside, 1);
    world.is_consistent();
}
