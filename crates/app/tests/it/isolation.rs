//! Organisations are isolated. If one organisation names a thing of another, the answer is that it does not exist, and
//! nothing of the other changes (I13).

use admit_app::api_tokens::{self, ApiTokenWish};
use admit_app::error::Error;
use admit_app::events::EventPatch;
use admit_app::gates::GatePatch;
use admit_app::guests::{GuestPatch, Wanted};
use admit_app::incidents::Resolve;
use admit_app::ports::ScanFilter;
use admit_app::records::Role;
use admit_app::tickets::{HowToImport, NewGuest, TicketPatch};
use admit_app::{
    audits, devices, entry_types, events, gates, guest_lists, guests, incidents, members, occupancy, pairing_tokens,
    scans, tickets,
};
use admit_core::gate::Direction;

use crate::world::*;

fn gone<T: std::fmt::Debug>(what: &str, result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::NotFound { .. })), "{what}: {result:?}");
}

#[test]
fn whatever_is_named_of_another_organisation_is_not_there() {
    let world = World::new();
    let ticket_id = world.tickets(&["A"]).remove(0);
    let guest = NewGuest { name: "Ana".into(), ..NewGuest::default() };
    let guest = now(guests::create(&world.app, &world.owner, world.event.clone(), guest, None, None)).unwrap().0;
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "A", "valid", at(1_000));
    let incident = world.incident("double_entry").incident_id;
    let token = now(api_tokens::create(&world.app, &world.owner, ApiTokenWish::named("T"))).unwrap().record;
    let (stranger, _) = world.other();
    let (app, event) = (&world.app, &world.event);
    let (before, occupancy) = (world.ledger(), world.occupancy());

    gone("event", now(events::show(app, &stranger, event.clone())));
    gone("event patch", now(events::update(app, &stranger, event.clone(), EventPatch::default())));
    gone("gates", now(gates::list(app, &stranger, event.clone())));
    gone("gate", now(gates::create(app, &stranger, event.clone(), new_gate("x", Direction::In, &["a"]))));
    gone("gate patch", now(gates::update(app, &stranger, event.clone(), gate("main"), GatePatch::default())));
    gone("entry types", now(entry_types::list(app, &stranger, event.clone())));
    let new = entry_types::NewEntryType { name: "X".into(), zone: "x".into() };
    gone("entry type", now(entry_types::create(app, &stranger, event.clone(), new)));
    gone("guest lists", now(guest_lists::list(app, &stranger, event.clone())));
    let new = guest_lists::NewGuestList { name: "X".into(), promoter_id: None };
    gone("guest list", now(guest_lists::create(app, &stranger, event.clone(), new)));
    gone("tickets", now(tickets::list(app, &stranger, event.clone(), tickets::Wanted::default(), whole_page())));
    gone("ticket", now(tickets::show(app, &stranger, ticket_id.clone())));
    gone("ticket patch", now(tickets::update(app, &stranger, ticket_id, TicketPatch::default())));
    gone("new ticket", now(tickets::create(app, &stranger, event.clone(), vec![coded("Z")])));
    gone("import", now(tickets::import(app, &stranger, event.clone(), b"name\nA", HowToImport::default())));
    gone(
        "dry run",
        now(tickets::import(
            app,
            &stranger,
            event.clone(),
            b"name\nA",
            HowToImport { dry_run: true, ..HowToImport::default() },
        )),
    );
    gone("export", now(tickets::export(app, &stranger, event.clone())));
    gone("guests", now(guests::list(app, &stranger, event.clone(), Wanted::default(), whole_page())));
    gone("guest", now(guests::update(app, &stranger, guest.guest_id, GuestPatch::default())));
    gone("devices", now(devices::list(app, &stranger, event.clone())));
    gone("revoke", now(devices::revoke(app, &stranger, phone.caller.device_id.clone(), Some(at(0)))));
    gone("pairing", now(pairing_tokens::create(app, &stranger, event.clone(), gate("main"), None)));
    gone("incidents", now(incidents::list(app, &stranger, event.clone(), None, whole_page())));
    gone("incident", now(incidents::show(app, &stranger, incident.clone())));
    let said = Resolve { decision: None, scans: vec![], note: "x".into() };
    gone("resolve", now(incidents::resolve(app, &stranger, incident, said)));
    gone("occupancy", now(occupancy::show(app, &stranger, event.clone())));
    gone("statistics", now(occupancy::flow(app, &stranger, event.clone())));
    gone("scans", now(scans::list::list(app, &stranger, event.clone(), ScanFilter::default(), whole_page())));
    gone("audit", now(audits::list(app, &stranger, Some(event.clone()), None, whole_page())));
    gone("member", now(members::update(app, &stranger, world.owner.user_id.clone(), Role::Viewer)));
    gone("member removal", now(members::delete(app, &stranger, world.owner.user_id.clone())));
    gone("api token", now(api_tokens::revoke(app, &stranger, &token.api_token_id)));

    assert_eq!((world.ledger(), world.occupancy()), (before, occupancy));
    assert_eq!(now(events::list(app, &stranger, whole_page())).unwrap().items.len(), 1, "its own alone");
    world.is_consistent();
}

#[test]
fn the_same_names_live_beside_each_other() {
    let world = World::new();
    let (stranger, foreign) = world.other();
    world.tickets(&["A", "B"]);
    let made = now(tickets::create(&world.app, &stranger, foreign.clone(), vec![coded("A")])).unwrap();
    assert_eq!(made[0].0.barcode.as_deref(), Some("A"), "a code is one of its event's");
    world.phone("p", "main").scan("s1", "A", "valid", at(0));
    assert_eq!(now(occupancy::show(&world.app, &stranger, foreign)).unwrap().occupancy.inside, 0);
    assert_eq!(world.occupancy().inside, 1);
}
