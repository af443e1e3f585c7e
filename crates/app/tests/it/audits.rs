//! The ledgers: every hour the organisation's own ledger notes where its events' ledgers end (spec D14).

use admit_app::audits::{self, anchor};
use admit_app::ports::read;
use admit_app::records::AuditRecord;
use serde_json::Value;

use crate::world::*;

fn anchored(world: &World) -> usize {
    now(audits::anchor(&world.app, &world.owner.organization_id)).unwrap()
}

fn newest(world: &World) -> AuditRecord {
    let line = now(read(&*world.app.store, &world.owner.organization_id, |tx| tx.newest_audit(anchor::ACTION)));
    line.unwrap().expect("a line that anchors")
}

#[test]
fn d14_an_event_that_was_written_to_is_noted_once_an_hour() {
    let world = World::new();
    world.pass(HOUR);
    assert_eq!(anchored(&world), 1);
    assert_eq!(anchored(&world), 0, "within the hour");
    world.pass(HOUR);
    assert_eq!(anchored(&world), 0, "nothing happened");
    world.tickets(&["MORE-1"]);
    assert_eq!(anchored(&world), 1);
    let said: Value = serde_json::from_str(&newest(&world).line.changes).unwrap();
    let event = world.event.clone();
    let head = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.head(&event))).unwrap();
    assert_eq!(said["ledgers"][0]["event_id"], world.event.as_str());
    assert_eq!(said["ledgers"][0]["head"], admit_core::barcode::hex(&head.audit_head));
    world.tickets(&["MORE-2"]);
    assert_eq!(anchored(&world), 0, "within the hour");
    let verified =
        now(audits::verify(&world.app, &world.owner.organization_id, std::slice::from_ref(&world.event))).unwrap();
    assert_eq!((verified.ledgers, verified.broken), (2, Vec::new()));
    // The caller's list of events lacks an event that was made since. Its ledger is checked all the same.
    let verified = now(audits::verify(&world.app, &world.owner.organization_id, &[])).unwrap();
    assert_eq!((verified.ledgers, verified.broken), (2, Vec::new()));
    world.is_consistent();
}
