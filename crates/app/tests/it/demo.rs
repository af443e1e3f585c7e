//! The demo that `admit demo` serves.

use admit_app::demo::{self, seed::TICKETS};
use admit_app::{events, gates, occupancy, sessions, tickets};
use admit_core::event::EventStatus;
use admit_core::gate::Direction;
use admit_core::ticket::TicketStatus;

use crate::world::*;

#[test]
fn the_demo_is_a_live_event_with_twenty_thousand_tickets_and_found_again() {
    let world = World::new();
    let seeded = now(demo::seed(&world.app)).unwrap();
    let owner = now(sessions::authenticate(&world.app, &seeded.api_token)).unwrap();
    assert_eq!(owner.organization_id, seeded.organization_id);
    let event = now(events::show(&world.app, &owner, seeded.event_id.clone())).unwrap();
    assert_eq!((event.status, event.has_pin), (EventStatus::Live, true));
    assert_eq!((event.starts_at, event.ends_at), (at(-2 * HOUR), at(10 * HOUR)));
    let listed = now(gates::list(&world.app, &owner, seeded.event_id.clone())).unwrap();
    assert_eq!(listed.iter().map(|one| one.gate_id.clone()).collect::<Vec<_>>(), seeded.gates);
    assert_eq!((listed.len(), listed[0].rules.direction), (4, Direction::In));
    assert_eq!(listed[0].rules.zones, ["general", "vip"]);
    let inside = now(occupancy::show(&world.app, &owner, seeded.event_id.clone())).unwrap();
    assert_eq!((inside.tickets as usize, inside.occupancy.entered), (TICKETS, 0));
    assert!(inside.expected_persons > inside.tickets, "there are parties");
    assert_eq!(seeded.sample_barcodes.len(), 20);
    let voided = tickets::Wanted { status: Some(TicketStatus::Voided), ..tickets::Wanted::default() };
    let voided = now(tickets::list(&world.app, &owner, seeded.event_id.clone(), voided, whole_page())).unwrap();
    assert!(voided.items.len() > 100);
    assert!(voided.items.iter().all(|(_, guest, _)| guest.as_ref().is_some_and(|guest| !guest.name.is_empty())));
    let candidate = now(sessions::look_up(&world.app, &seeded.email)).unwrap();
    assert!(sessions::check(&candidate, &seeded.password).is_ok());

    world.pass(HOUR);
    let again = now(demo::seed(&world.app)).unwrap();
    assert_ne!(again.api_token, seeded.api_token);
    assert!(now(sessions::authenticate(&world.app, &again.api_token)).is_ok());
    assert_eq!(demo::Seeded { api_token: seeded.api_token.clone(), ..again }, seeded, "the same in everything else");
}
