//! Guests added at the door: the scan that added them makes a ticket and a guest, once it counts (decision 036).

use admit_app::events::{self, EventPatch};
use admit_app::gates::{self, GatePatch};
use admit_app::guests::{self, Wanted};
use admit_app::incidents::{self, Resolve};
use admit_app::records::GuestRecord;
use admit_app::scans::rebuild;
use admit_core::review::Decision;
use admit_core::wire::scanning::Named;

use super::*;

fn venue() -> World {
    let world = World::new();
    let patch = GatePatch { walk_ins: Some(true), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), patch)).unwrap();
    world
}

/// A scan that adds a guest, and the upload item with the guest's name.
fn walk_in(world: &World, phone: &Phone<'_>, scan_id: &str, seq: u64, name: &str, party: u32) -> (Scan, Value) {
    let mut scan = Scan {
        method: Method::Manual,
        barcode_hash: None,
        basis: None,
        ..scan_of(world, phone, scan_id, seq, "-", at(0))
    };
    // The phone knew the rule that lets its gate add guests.
    scan.manifest_version = head(world);
    let named = Named { name: name.to_owned(), salt: [7; 16] };
    scan.walk_in = Some(WalkIn { zone: "general".into(), party, name_digest: WalkIn::digest_of(&named.salt, name) });
    scan.ticket_id = WalkIn::ticket_id(&scan.event_id, &scan.device_id, &scan.scan_id);
    scan.count = party;
    let mut item = signed(phone, &scan);
    (item["walk_in"]["name"], item["walk_in"]["salt"]) = (json!(name), json!("07".repeat(16)));
    (scan, item)
}
fn guest_of(world: &World, ticket_id: &TicketId) -> Option<GuestRecord> {
    let (event, ticket_id) = (world.event.clone(), ticket_id.clone());
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| {
        let ticket = tx.tickets_by_id(&event, &[ticket_id])?.pop();
        let ids: Vec<_> = ticket.and_then(|ticket| ticket.guest_id).into_iter().collect();
        Ok(tx.guests_by_id(&ids)?.pop())
    }))
    .unwrap()
}
fn is_as_reduced(world: &World) {
    let found = now(rebuild::check(&world.app, &world.owner.organization_id, &world.event)).unwrap();
    assert_eq!(found.lines, Vec::<String>::new());
}

#[test]
fn the_guest_is_in_the_list_with_a_ticket_and_a_pass_to_come_and_each_delivery_makes_them_once() {
    let world = venue();
    let phone = world.phone("p", "main");
    let (scan, item) = walk_in(&world, &phone, "w1", 1, "Gül Güneş", 3);
    send(&world, &phone, "one", std::slice::from_ref(&item)).unwrap();
    send(&world, &phone, "again", &[item]).unwrap();
    let ticket_id = scan.ticket_id.unwrap();
    let guest = guest_of(&world, &ticket_id).unwrap();
    assert_eq!((guest.name.as_str(), guest.party_size, guest.email), ("Gül Güneş", 3, None));
    assert!(guest.entry_type_id.is_some(), "the entry type of its zone");
    let occupancy = world.occupancy();
    assert_eq!((occupancy.inside, occupancy.walk_ins), (3, 3));
    assert_eq!(world.open(), Vec::<String>::new());
    is_as_reduced(&world);
    let page =
        now(guests::list(&world.app, &world.owner, world.event.clone(), Wanted::default(), whole_page())).unwrap();
    assert_eq!(page.items.len(), 1);
}

#[test]
fn a_name_that_was_not_signed_is_not_believed() {
    let world = venue();
    let phone = world.phone("p", "main");
    let (scan, mut item) = walk_in(&world, &phone, "w1", 1, "Ada", 1);
    item["walk_in"]["name"] = json!("Eve");
    send(&world, &phone, "one", &[item]).unwrap();
    assert_eq!(guest_of(&world, &scan.ticket_id.unwrap()).unwrap().name, "Guest added at the door");
}

#[test]
fn practice_makes_no_ticket_and_what_a_person_accepts_does() {
    let world = venue();
    let phone = world.phone("p", "main");
    let (mut scan, _) = walk_in(&world, &phone, "w1", 1, "Ada", 1);
    (scan.practice, scan.at) = (true, at(60));
    let mut item = signed(&phone, &scan);
    (item["walk_in"]["name"], item["walk_in"]["salt"]) = (json!("Ada"), json!("07".repeat(16)));
    send(&world, &phone, "one", &[item]).unwrap();
    let ticket_id = scan.ticket_id.clone().unwrap();
    assert_eq!(guest_of(&world, &ticket_id), None);
    // The scan's time is after the doors opened. So a person must decide, and accepts it.
    let incident = world.incident("practice_after_open");
    let scans = vec![(scan.device_id.clone(), scan.scan_id.clone())];
    let accept = Resolve { decision: Some(Decision::Accept), scans, note: String::new() };
    now(incidents::resolve(&world.app, &world.owner, incident.incident_id, accept)).unwrap();
    assert_eq!(guest_of(&world, &ticket_id).unwrap().name, "Ada");
    assert_eq!(world.occupancy().walk_ins, 1);
    is_as_reduced(&world);
}

#[test]
fn a_gate_that_adds_nobody_is_told_to_a_person_and_the_guest_counts() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let (_, item) = walk_in(&world, &phone, "w1", 1, "Ada", 1);
    send(&world, &phone, "one", &[item]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["walk_ins_over".to_owned()]));
}

#[test]
fn the_number_is_a_rule_of_the_event_that_phones_hear() {
    let world = venue();
    let patch = EventPatch { walk_ins: Some(Some(30)), ..EventPatch::default() };
    let event = now(events::update(&world.app, &world.owner, world.event.clone(), patch)).unwrap();
    assert_eq!(event.walk_ins, Some(30));
    let id = world.event.clone();
    let rules = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.load_rules(&id, &[]))).unwrap();
    assert_eq!(rules.book.event(admit_core::rule::When::Newest).unwrap().walk_ins, Some(30));
    let none = EventPatch { walk_ins: Some(None), ..EventPatch::default() };
    assert_eq!(now(events::update(&world.app, &world.owner, world.event.clone(), none)).unwrap().walk_ins, None);
}
