//! Exports of other ticketing systems, unchanged: the samples of `docs/samples`. Their README says from where each
//! header was taken.

use admit_app::entry_types::{self, NewEntryType};
use admit_app::guests::{self, GuestPatch};
use admit_app::tickets::{self, HowToImport, ImportReport, Listing, Mapping};
use admit_core::ticket::TicketStatus;

use crate::world::*;

const PRETIX: &str = include_str!("../../../../docs/samples/pretix-check-in-list.csv");
const POSITIONS: &str = include_str!("../../../../docs/samples/pretix-order-positions.csv");
const EVENTBRITE: &str = include_str!("../../../../docs/samples/eventbrite-attendees.csv");

fn import(world: &World, file: &str) -> ImportReport {
    let how = HowToImport::default();
    now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap()
}

/// Name, e-mail, status and code of every stored ticket, sorted by name.
fn stored(world: &World) -> Vec<(String, Option<String>, TicketStatus, String)> {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    let of = |(ticket, guest, _): Listing| {
        let guest = guest.unwrap();
        (guest.name, guest.email, ticket.rules.status, ticket.barcode.unwrap())
    };
    let mut out: Vec<_> = now(page).unwrap().items.into_iter().map(of).collect();
    out.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    out
}

fn twice(file: &str, export: &str, created: usize) -> World {
    let world = World::new();
    let first = import(&world, file);
    assert_eq!(first.errors, Vec::new());
    assert_eq!((first.created, first.export), (created, Some(export)));
    let before = (world.ledger(), stored(&world));
    let again = import(&world, file);
    assert_eq!((again.created, again.updated, again.unchanged), (0, 0, created));
    assert_eq!((world.ledger(), stored(&world)), before, "the same file twice changes nothing");
    world.is_consistent();
    world
}

#[test]
fn a_check_in_list_of_pretix_brings_its_own_codes() {
    let world = twice(PRETIX, "pretix", 3);
    let stored = stored(&world);
    let names: Vec<&str> = stored.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["Li Xiaolong", "Mr Noah O'Connor", "Ms Amélie Rose Brânză"]);
    assert_eq!(stored[2].1.as_deref(), Some("amelie@guests.example"));
    assert_eq!(stored[2].3, "samplesecretamelie0000000000000001", "the code on the ticket they have already");
}

#[test]
fn positions_of_pretix_are_known_by_order_and_position_and_a_cancelled_one_admits_nobody() {
    let world = twice(POSITIONS, "pretix", 2);
    let stored = stored(&world);
    let of = |name: &str| stored.iter().find(|(one, ..)| one == name).cloned().unwrap();
    assert_eq!(of("Amélie Brânză").1.as_deref(), Some("amelie@guests.example"), "the order's, as they gave none");
    assert_eq!(of("Noah O'Connor").1.as_deref(), Some("noah@guests.example"), "their own");
    assert_eq!((of("Noah O'Connor").2, stored.len()), (TicketStatus::Active, 2), "a cancelled one makes no ticket");
    let void = import(&world, &POSITIONS.replacen("\"Paid\"", "\"Canceled\"", 1));
    assert_eq!((void.updated, void.unchanged), (1, 1), "but one that is there is voided");
}

#[test]
fn attendees_of_eventbrite_are_read_as_they_come() {
    let world = twice(EVENTBRITE, "Eventbrite", 2);
    let stored = stored(&world);
    let statuses: Vec<(&str, TicketStatus)> =
        stored.iter().map(|(name, _, status, _)| (name.as_str(), *status)).collect();
    assert_eq!(statuses, [("Amélie Brânză", TicketStatus::Active), ("Noah O'Connor", TicketStatus::Active)]);
}

#[test]
fn the_other_spellings_of_eventbrite_are_known_too() {
    let world = World::new();
    let file = "Order no.,Order Date,First Name,Surname,Email,Quantity,Ticket Type,Attendee #,Barcode #,Attendee Status\n\
                1,2026-05-01,Anna,Andersson,anna@guests.example,2,VIP,9,555000111,Checked In\n";
    let report = import(&world, file);
    assert_eq!((report.created, report.errors), (1, Vec::new()));
    let stored = stored(&world);
    assert_eq!((stored[0].0.as_str(), stored[0].3.as_str()), ("Anna Andersson", "555000111"));
}

#[test]
fn five_thousand_rows_go_in_at_once_and_what_is_wrong_is_told_by_its_line() {
    let world = World::new();
    let (header, _) = EVENTBRITE.split_once('\n').unwrap();
    let mut file = format!("{header}\n");
    for n in 0..5_000 {
        let (quantity, status) = match n {
            1_234 => ("many", "Attending"),
            2_345 => ("1", "Wherever"),
            _ => ("1", "Attending"),
        };
        // This line has the attendee number of the line before it.
        let attendee = if n == 3_456 { 3_455 } else { n };
        file.push_str(&format!(
            "77,11/29/26 22:28,Guest,Number {n},guest{n}@guests.example,{quantity},,General Admission,{attendee},,Free Order,USD,0,0,0,0,{status},,,,,,\n"
        ));
    }
    let report = import(&world, &file);
    // That attendee number stands for two persons, so it identifies neither. Both are imported by their names.
    assert_eq!((report.created, report.wrong_lines, report.asked), (4_998, 1, 1));
    let told: Vec<(u64, &str)> = report.errors.iter().map(|error| (error.line, error.field.as_str())).collect();
    assert_eq!(told, [(1_236, "party_size")]);
    assert_eq!((report.questions[0].kind, report.questions[0].line), ("status", 2_347));
    let again = import(&world, &file);
    assert_eq!((again.created, again.updated, again.unchanged), (0, 0, 4_998));
}

fn void_by_hand(world: &World, name: &str) {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    let found =
        now(page).unwrap().items.into_iter().find(|(_, guest, _)| guest.as_ref().unwrap().name == name).unwrap();
    let patch = GuestPatch { ticket_status: Some(TicketStatus::Voided), ..GuestPatch::default() };
    now(guests::update(&world.app, &world.owner, found.0.guest_id.unwrap(), patch)).unwrap();
}

/// A shop's export says only that the shop has no reason against a ticket. The person who voided it here had one.
#[test]
fn a_void_made_by_hand_stays_when_an_export_comes_again() {
    let world = World::new();
    import(&world, EVENTBRITE);
    void_by_hand(&world, "Noah O'Connor");
    let dry = HowToImport { dry_run: true, ..HowToImport::default() };
    let dry = tickets::import(&world.app, &world.owner, world.event.clone(), EVENTBRITE.as_bytes(), dry);
    assert_eq!(now(dry).unwrap().kept, 1);
    let again = import(&world, EVENTBRITE);
    assert_eq!((again.created, again.updated, again.unchanged, again.kept), (0, 0, 2, 1));
    // A ticket that the shop itself took back becomes valid again. The one that a person voided does not.
    let paid = import(&world, &EVENTBRITE.replace("Not Attending", "Attending"));
    assert_eq!((paid.created, paid.updated, paid.kept), (1, 0, 1));
    let statuses: Vec<TicketStatus> = stored(&world).into_iter().map(|(_, _, status, _)| status).collect();
    assert_eq!(statuses, [TicketStatus::Active, TicketStatus::Active, TicketStatus::Voided]);
    // Once the shop refunds all tickets itself, its later status holds again.
    import(&world, &EVENTBRITE.replace(",Attending", ",Refunded"));
    let back = import(&world, &EVENTBRITE.replace("Not Attending", "Attending"));
    assert_eq!((back.updated, back.kept), (3, 0));
    world.is_consistent();
}

/// The organiser chose the column of codes only at the second import: each guest keeps their one ticket.
#[test]
fn codes_that_come_later_are_given_to_the_tickets_that_came_without() {
    let world = World::new();
    import(&world, EVENTBRITE);
    let phone = world.phone("p", "main");
    phone.scan("s1", "555000", "valid", at(0));
    let mut file = String::new();
    for (n, line) in EVENTBRITE.lines().enumerate() {
        let code = if n == 0 { "Barcode #".to_owned() } else { format!("55500{}", n - 1) };
        file.push_str(&format!("{line},{code}\n"));
    }
    let report = import(&world, &file);
    assert_eq!((report.created, report.updated, report.errors), (0, 2, Vec::new()));
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    let items = now(page).unwrap().items;
    let amelie = items.iter().find(|(_, guest, _)| guest.as_ref().unwrap().name == "Amélie Brânză").unwrap();
    assert_eq!((items.len(), amelie.2.as_ref().unwrap().state.within), (2, 1), "the scan that came before its code");
    phone.scan("s2", amelie.0.barcode.as_deref().unwrap(), "duplicate", at(1_000));
    let again = import(&world, &file);
    assert_eq!((again.created, again.updated, again.unchanged), (0, 0, 2));
    world.is_consistent();
}

/// The import refuses a list without the secrets: no guest's code could be scanned. One buyer's guests could not be
/// told apart either.
#[test]
fn a_check_in_list_of_pretix_without_its_secrets_is_refused() {
    let world = World::new();
    let file = "\"Order code\",\"Attendee name\",\"Product\",\"Checked in\",\"E-mail\"\n\"A1\",\"Ana\",\"T\",\"\",\"a@b.example\"\n";
    let how = HowToImport::default();
    let refused = tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how);
    assert_eq!(wrong_field(now(refused)), "header");
}

/// A shop sells T-shirts too. The import names such products before they become guests, and the organiser leaves them
/// out.
#[test]
fn products_that_are_no_entry_types_are_told_and_left_out_where_asked() {
    let world = World::new();
    let vip = NewEntryType { name: "VIP".into(), zone: "vip".into() };
    now(entry_types::create(&world.app, &world.owner, world.event.clone(), vip)).unwrap();
    let import = |dry_run: bool, said: &str| {
        let mapping = Some(Mapping::parse(said).unwrap());
        let how = HowToImport { dry_run, mapping, ..HowToImport::default() };
        now(tickets::import(&world.app, &world.owner, world.event.clone(), PRETIX.as_bytes(), how)).unwrap()
    };
    let dry = import(true, "{}");
    assert_eq!((dry.created, dry.left_out_rows(), dry.new_entry_types), (3, 0, vec!["Regular ticket".to_owned()]));
    let first = import(true, r#"{"new_entry_types":"first"}"#);
    assert_eq!((first.created, first.unknown_types), (3, vec![("Regular ticket".to_owned(), 2)]));
    let some = import(false, r#"{"new_entry_types":"leave_out"}"#);
    assert_eq!((some.created, some.left_out_rows(), some.wrong_lines), (1, 2, 0));
    let rest = import(false, r#"{"new_entry_types":"create"}"#);
    assert_eq!((rest.created, rest.unchanged), (2, 1));
    let types = now(entry_types::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert!(types.iter().any(|one| one.record.name == "Regular ticket" && one.record.zone == "general"), "{types:?}");
}
