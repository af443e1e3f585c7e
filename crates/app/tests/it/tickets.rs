//! Tickets: creating, changing and finding them, and what that does to earlier scans.

use admit_app::records::{Page, Role};
use admit_app::rules::HoldsFrom;
use admit_app::tickets::{self, HowToImport, NewGuest, NewTicket, TicketPatch};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::TicketId;
use admit_core::ticket::TicketStatus;

use crate::world::*;

fn create(world: &World, new: Vec<NewTicket>) -> Result<Vec<tickets::Listing>, admit_app::error::Error> {
    let made = now(tickets::create(&world.app, &world.owner, world.event.clone(), new))?;
    Ok(made.into_iter().map(|(ticket, guest)| (ticket, guest, None)).collect())
}

fn patch(world: &World, id: &TicketId, patch: TicketPatch) -> admit_app::records::TicketRecord {
    now(tickets::update(&world.app, &world.owner, id.clone(), patch)).unwrap()
}

#[test]
fn a_ticket_gets_a_code_a_zone_and_its_guests_party() {
    let world = World::new();
    let guest = NewGuest { name: " Amélie ".into(), party_size: Some(4), ..NewGuest::default() };
    let made = create(&world, vec![NewTicket { guest: Some(guest), ..NewTicket::default() }]).unwrap();
    let (ticket, guest, _) = &made[0];
    let barcode = ticket.barcode.as_ref().unwrap();
    assert_eq!((barcode.len(), &barcode[14..15]), (36, "4"), "a UUID v4");
    assert_eq!(ticket.barcode_hashes, [BarcodeHash::of(barcode)]);
    assert_eq!((ticket.rules.zone.as_str(), ticket.rules.entry_limit), ("general", 4));
    let guest = guest.as_ref().unwrap();
    assert_eq!((guest.name.as_str(), guest.party_size), ("Amélie", 4));
    assert!(guest.entry_type_id.is_some(), "without entry type: the event's first");
    assert_eq!(world.ticket(&ticket.ticket_id).0, *ticket);
    assert_eq!(world.ticket(&ticket.ticket_id).1.as_ref(), Some(guest));
    world.is_consistent();
}

#[test]
fn every_wrong_field_is_named_with_its_item() {
    let world = World::new();
    let field = |ticket: NewTicket| wrong_field(create(&world, vec![coded("good"), ticket]));
    let with_guest = |guest| NewTicket { guest: Some(guest), ..NewTicket::default() };
    let named = |name: &str| NewGuest { name: name.into(), ..NewGuest::default() };
    assert_eq!(field(coded("")), "[1].barcode");
    assert_eq!(field(coded(" good\u{feff}")), "[1].barcode", "the same code, as a spreadsheet hands it over");
    assert_eq!(field(coded(&"x".repeat(513))), "[1].barcode");
    assert_eq!(field(coded("good")), "[1].barcode", "twice in one request");
    assert_eq!(field(NewTicket { entry_limit: Some(0), ..NewTicket::default() }), "[1].entry_limit");
    assert_eq!(field(NewTicket { entry_limit: Some(10_001), ..NewTicket::default() }), "[1].entry_limit");
    assert_eq!(field(NewTicket { zone: Some(" ".into()), ..NewTicket::default() }), "[1].zone");
    assert_eq!(field(NewTicket { gate_ids: vec![gate("nowhere")], ..NewTicket::default() }), "[1].gate_ids[0]");
    let window = NewTicket { valid_from: Some(at(1)), expires_at: Some(at(1)), ..NewTicket::default() };
    assert_eq!(field(window), "[1].expires_at");
    assert_eq!(field(with_guest(named(""))), "[1].guest.name");
    assert_eq!(field(with_guest(NewGuest { email: Some("x".into()), ..named("A") })), "[1].guest.email");
    assert_eq!(wrong_field(create(&world, vec![])), "");
    let one = tickets::create_one(&world.app, &world.owner, world.event.clone(), with_guest(named("")));
    assert_eq!(wrong_field(now(one)), "guest.name");
    let all =
        now(tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page()));
    assert!(all.unwrap().items.is_empty(), "all or none");
}

#[test]
fn a_code_is_never_given_twice() {
    let world = World::new();
    world.tickets(&["A"]);
    assert_eq!(code(create(&world, vec![coded("B"), coded("A")])), "barcode_taken");
    assert!(create(&world, vec![coded("B")]).is_ok(), "nothing of the refused request was kept");
}

#[test]
fn a_ticket_made_after_its_scan_finds_it() {
    let world = World::new();
    let phone = world.phone("p", "main");
    phone.scan("s1", "LATE", "valid", at(0));
    assert_eq!(world.occupancy().inside, 1);
    assert_eq!(world.open(), ["admitted_in_error"], "let in on a code nobody knows");
    world.heard.take();
    world.pass(HOUR);
    let id = world.tickets(&["OTHER", "LATE"]).remove(1);
    assert_eq!(world.ticket(&id).2.unwrap().state.within, 1);
    assert_eq!(world.occupancy().inside, 1);
    assert_eq!(world.open(), Vec::<String>::new(), "its values hold from the start");
    let topics: Vec<String> = world.heard.take().iter().map(|hint| format!("{:?}", hint.topic)).collect();
    assert!(topics.contains(&"Incidents".to_owned()) && topics.contains(&"Rules".to_owned()), "{topics:?}");
    world.is_consistent();
}

#[test]
fn a_void_holds_from_now_on_unless_it_is_said_to_hold_from_the_start() {
    let world = World::new();
    let ids = world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    world.pass(HOUR);
    let voided = TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() };
    patch(&world, &ids[0], voided.clone());
    assert_eq!(world.open(), Vec::<String>::new(), "a refund at 20:00 does not make a 19:00 entry wrong");
    patch(&world, &ids[0], TicketPatch { effective: HoldsFrom::Start, ..voided.clone() });
    assert_eq!(world.open(), ["admitted_in_error"]);
    patch(&world, &ids[1], voided);
    phone.scan("s2", "B", "valid", at(HOUR + 1_000));
    assert_eq!(world.open(), ["admitted_in_error", "admitted_in_error"]);
    assert_eq!(world.occupancy().inside, 2, "nobody is un-admitted");
    world.is_consistent();
}

#[test]
fn a_larger_party_makes_the_second_person_good_and_the_guest_follows() {
    let world = World::new();
    let guest = NewGuest { name: "A".into(), ..NewGuest::default() };
    let made = create(&world, vec![NewTicket { guest: Some(guest), ..coded("A") }]).unwrap();
    let id = made[0].0.ticket_id.clone();
    let phone = world.phone("p", "main");
    phone.scan("s1", "A", "valid", at(0));
    phone.scan("s2", "A", "valid", at(1_000));
    assert_eq!((world.occupancy().over, world.open()), (1, vec!["double_entry".to_owned()]));
    let two = TicketPatch { entry_limit: Some(2), effective: HoldsFrom::Start, ..TicketPatch::default() };
    patch(&world, &id, two);
    assert_eq!((world.occupancy().over, world.open()), (0, vec![]));
    assert_eq!(world.ticket(&id).1.unwrap().party_size, 2);
    world.is_consistent();
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    let world = World::new();
    let id = world.tickets(&["A"]).remove(0);
    let before = world.ledger().len();
    assert_eq!(patch(&world, &id, TicketPatch::default()), world.ticket(&id).0);
    assert_eq!(world.ledger().len(), before);
    let window =
        TicketPatch { valid_from: Some(Some(at(0))), expires_at: Some(Some(at(HOUR))), ..TicketPatch::default() };
    let changed = patch(&world, &id, window);
    assert_eq!((changed.rules.valid_from, changed.rules.expires_at), (Some(at(0)), Some(at(HOUR))));
    let open = patch(&world, &id, TicketPatch { expires_at: Some(None), ..TicketPatch::default() });
    assert_eq!((open.rules.valid_from, open.rules.expires_at), (Some(at(0)), None));
    let bound = patch(&world, &id, TicketPatch { gate_ids: Some(vec![gate("main")]), ..TicketPatch::default() });
    assert_eq!(bound.rules.gate_ids, [gate("main")]);
    let wrong = |patch| wrong_field(now(tickets::update(&world.app, &world.owner, id.clone(), patch)));
    assert_eq!(wrong(TicketPatch { gate_ids: Some(vec![gate("x")]), ..TicketPatch::default() }), "gate_ids[0]");
    assert_eq!(wrong(TicketPatch { entry_limit: Some(0), ..TicketPatch::default() }), "entry_limit");
    assert_eq!(wrong(TicketPatch { expires_at: Some(Some(at(-1))), ..TicketPatch::default() }), "expires_at");
    let none = tickets::update(&world.app, &world.owner, TicketId::new("none").unwrap(), TicketPatch::default());
    assert_eq!(code(now(none)), "no ticket");
    world.is_consistent();
}

#[test]
fn tickets_are_found_by_name_code_status_and_whether_anybody_came() {
    let world = World::new();
    let guest = |name: &str| Some(NewGuest { name: name.into(), ..NewGuest::default() });
    create(
        &world,
        vec![
            NewTicket { guest: guest("Amélie Brânză"), ..coded("A-1") },
            NewTicket { guest: guest("Noah Smith"), ..coded("B-2") },
            NewTicket { status: Some(TicketStatus::Voided), ..coded("C-3") },
        ],
    )
    .unwrap();
    world.phone("p", "main").scan("s1", "B-2", "valid", at(0));
    let find = |filter| {
        let page = now(tickets::list(&world.app, &world.owner, world.event.clone(), filter, whole_page())).unwrap();
        let mut codes: Vec<String> = page.items.into_iter().filter_map(|(ticket, ..)| ticket.barcode).collect();
        codes.sort();
        codes
    };
    let text = |text: &str| tickets::Wanted { text: Some(text.into()), ..tickets::Wanted::default() };
    assert_eq!(find(text("AMÉLIE b")), ["A-1"]);
    assert_eq!(find(text("smith")), ["B-2"]);
    assert_eq!(find(text("C-")), ["C-3"]);
    assert_eq!(find(text("%")), Vec::<String>::new());
    assert_eq!(find(tickets::Wanted { status: Some(TicketStatus::Voided), ..tickets::Wanted::default() }), ["C-3"]);
    assert_eq!(find(tickets::Wanted { entered: Some(true), ..tickets::Wanted::default() }), ["B-2"]);
    assert_eq!(find(tickets::Wanted { entered: Some(false), ..tickets::Wanted::default() }), ["A-1", "C-3"]);
}

#[test]
fn pages_of_tickets_made_at_one_moment_neither_repeat_nor_miss_any() {
    let world = World::new();
    let codes: Vec<String> = (0..25).map(|n| format!("T{n:02}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = Page { limit: 10, cursor };
        let page = now(tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), page))
            .unwrap();
        seen.extend(page.items.into_iter().filter_map(|(ticket, ..)| ticket.barcode));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, codes);
}

#[test]
fn who_may_not_manage_guests_does_not() {
    let world = World::new();
    let id = world.tickets(&["A"]).remove(0);
    for role in [Role::Promoter, Role::Door, Role::Viewer] {
        let member = world.member(role);
        let made = tickets::create(&world.app, &member, world.event.clone(), vec![coded("B")]);
        assert_eq!(code(now(made)), "forbidden", "{role}");
        let changed = tickets::update(&world.app, &member, id.clone(), TicketPatch::default());
        assert_eq!(code(now(changed)), "forbidden", "{role}");
        assert_eq!(code(now(tickets::export(&world.app, &member, world.event.clone()))), "forbidden", "{role}");
        let import = tickets::import(&world.app, &member, world.event.clone(), b"name\nA", HowToImport::default());
        // A promoter may import, but only onto a list of their own.
        let refused = if role == Role::Promoter { "invalid_request" } else { "forbidden" };
        assert_eq!(code(now(import)), refused, "{role}");
        let seen = now(tickets::show(&world.app, &member, id.clone()));
        assert_eq!(seen.is_ok(), role == Role::Viewer, "{role}");
    }
}
