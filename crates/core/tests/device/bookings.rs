//! Bookings: the other tickets of an order are offered with one of them, and each gets a scan of its own (decision
//! 035).

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Screen;
use admit_core::ids::{GateId, TicketId};
use admit_core::rule::{Change, GateChange};
use admit_core::scan::{Method, Outcome, ScanKind, Stage};
use admit_core::ticket::Group;
use admit_core::wire::engine::{Booking, Effect, FoundGuest, Input};

use super::phone::Phone;
use super::server::{Server, ticket};

/// Tickets of one order: five tickets for one person each. `A-5` carries a flag if names are allowed.
fn venue(codes: &[&str]) -> Server {
    let mut server = Server::new();
    for code in codes {
        let ticket_id = id_of(&server, code);
        server.groups.insert(ticket_id, Group::of(&server.event_id, "ORDER-1"));
    }
    server
}
fn id_of(server: &Server, code: &str) -> TicketId {
    server.codes[&BarcodeHash::of(code)].clone()
}
const FIVE: [&str; 5] = ["A-1", "A-2", "A-3", "A-4", "A-5"];

fn ready(server: &mut Server) -> Phone {
    Phone::ready(1, server)
}
fn offered(phone: &mut Phone, code: &str) -> Booking {
    phone.scan(code).booking.expect("a booking")
}
fn ids(booking: &Booking) -> Vec<TicketId> {
    booking.others.iter().map(|other| other.ticket_id.clone()).collect()
}
/// Scans `code` and lets in the other tickets of its booking.
fn admit_all(phone: &mut Phone, code: &str) -> Booking {
    let shown = phone.scan(code);
    let ticket_ids = ids(shown.booking.as_ref().expect("a booking"));
    phone.input(Input::Booking { scan_id: shown.scan_id.unwrap(), ticket_ids });
    phone.last_shown().booking.clone().expect("what each became")
}
fn admitted(server: &Server, codes: &[&str]) -> Vec<(u32, u32)> {
    let state = |code: &&str| server.reduced_code(code).state;
    codes.iter().map(state).map(|state| (state.within, state.over)).collect()
}

#[test]
fn one_code_offers_the_others_who_are_not_in_yet() {
    let mut server = venue(&FIVE);
    let mut phone = ready(&mut server);
    phone.offline();
    assert_eq!(phone.scan("A-6").booking, None, "a ticket of no booking");
    let booking = offered(&mut phone, "A-1");
    assert_eq!((booking.others.len(), booking.already_in, booking.by_themselves), (4, 0, 0));
    assert!(booking.others.iter().all(|other| other.name.is_none() && other.persons == 1 && other.zone == "general"));
    let booking = offered(&mut phone, "A-2");
    assert_eq!((booking.others.len(), booking.already_in), (3, 1));
}

#[test]
fn all_of_a_booking_go_in_by_a_scan_each_in_one_append() {
    let mut server = venue(&FIVE);
    let mut phone = ready(&mut server);
    phone.offline();
    let became = admit_all(&mut phone, "A-1").became;
    assert_eq!(became.len(), 4);
    assert!(became.iter().all(|ticket| ticket.screen == Some(Screen::Admit) && ticket.persons == 1));
    let shown = phone.last_shown();
    assert_eq!((shown.screen, shown.opened, shown.count), (Screen::Admit, true, 4));
    let last_append = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Append { rows, .. } => Some(rows.len()),
        _ => None,
    });
    assert_eq!(last_append, Some(4), "all or none");
    let scans = phone.scans();
    assert_eq!(scans.len(), 5);
    for (n, scan) in scans.iter().enumerate().skip(1) {
        assert_eq!((scan.seq, scan.kind, scan.stage), (Some(n as u64 + 1), ScanKind::Entry, Stage::Final));
        assert_eq!((scan.outcome, scan.opened, scan.method), (Outcome::Valid, true, Method::Manual));
        assert_eq!(scan.barcode_hash, None);
    }
    assert!(scans.windows(2).all(|pair| pair[0].at < pair[1].at), "along a log times rise");
    // The server follows the chain, and counts each ticket.
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
    assert_eq!(admitted(&server, &FIVE), [(1, 0); 5]);
}

#[test]
fn one_of_them_is_undone_by_itself() {
    let mut server = venue(&FIVE);
    let mut phone = ready(&mut server);
    let became = admit_all(&mut phone, "A-1").became;
    let third = id_of(&server, "A-3");
    let scan_id = became.iter().find(|ticket| ticket.ticket_id == third).and_then(|ticket| ticket.scan_id.clone());
    phone.input(Input::Undo { scan_id, keep: 0 });
    let booking = offered(&mut phone, "A-2");
    assert_eq!((ids(&booking), booking.already_in), (vec![third], 3));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(admitted(&server, &FIVE), [(1, 0), (1, 0), (0, 0), (1, 0), (1, 0)]);
}

/// Acceptance test: a booking of five, one reverted and one already in elsewhere. The result is right as soon as both
/// phones have synced, in either order.
#[test]
fn one_who_is_in_elsewhere_already_is_told_after_either_order_of_sync() {
    for first_is_here in [true, false] {
        let mut server = venue(&FIVE);
        let mut here = ready(&mut server);
        let mut there = Phone::ready(2, &mut server);
        here.offline();
        there.offline();
        assert_eq!(there.screen("A-4"), Screen::Admit);
        here.pass(1_000);
        let became = admit_all(&mut here, "A-1").became;
        let second = id_of(&server, "A-2");
        let undone = became.iter().find(|ticket| ticket.ticket_id == second).unwrap();
        here.input(Input::Undo { scan_id: undone.scan_id.clone(), keep: 0 });
        let order = if first_is_here { [&mut here, &mut there] } else { [&mut there, &mut here] };
        for phone in order {
            phone.pass_online(&mut server, 7_000);
        }
        assert_eq!(admitted(&server, &FIVE), [(1, 0), (0, 0), (1, 0), (1, 1), (1, 0)]);
        assert_eq!(server.reduced_code("A-4").causes.len(), 1, "told to a person, whoever came first");
    }
}

#[test]
fn who_is_refused_or_to_be_checked_is_not_let_in_with_the_others() {
    let mut server = venue(&["A-1", "A-2", "A-5", "V-1", "VIP-1", "P-4"]);
    server.allow_names("north", true);
    server.name("A-2", "Béla Bíró", None);
    server.name("A-5", "Cem Çelik", Some("Check ID"));
    let mut phone = ready(&mut server);
    phone.settle(&mut server);
    let booking = offered(&mut phone, "A-1");
    let names: Vec<Option<&str>> = booking.others.iter().map(|other| other.name.as_deref()).collect();
    assert_eq!(names, [None, Some("Béla Bíró")]);
    assert_eq!(booking.others.iter().map(|other| other.persons).sum::<u32>(), 5, "a party goes in whole");
    assert_eq!((booking.by_themselves, booking.already_in), (3, 0), "voided, of another gate, to be checked");
    let flagged = id_of(&server, "A-5");
    let voided = id_of(&server, "V-1");
    let scan_id = phone.last_shown().scan_id.clone().unwrap();
    // A page that is out of date may still name these tickets. The phone judges them and does not open.
    phone.input(Input::Booking { scan_id, ticket_ids: vec![flagged.clone(), voided.clone()] });
    let became = phone.last_shown().booking.clone().unwrap().became;
    let of = |id: &TicketId| became.iter().find(|ticket| ticket.ticket_id == *id).unwrap();
    assert_eq!((of(&flagged).screen, of(&flagged).persons), (Some(Screen::Check), 0));
    assert_eq!((of(&voided).screen, of(&voided).persons), (Some(Screen::Refuse), 0));
    assert!(!phone.last_shown().opened);
}

#[test]
fn a_full_area_is_told_of_the_whole_booking() {
    let mut server = venue(&FIVE);
    server.first(Change::Gate(GateId::new("north").unwrap(), GateChange::Capacity(Some(3))));
    server.others_inside = Some(0);
    let mut phone = ready(&mut server);
    phone.pass_online(&mut server, 40_000);
    let booking = offered(&mut phone, "A-1");
    assert_eq!((booking.others.len(), booking.places_left), (4, Some(2)));
    // The free places are advice only: if staff let more persons in, those are counted.
    let scan_id = phone.last_shown().scan_id.clone().unwrap();
    phone.input(Input::Booking { scan_id, ticket_ids: ids(&booking) });
    assert_eq!((phone.last_shown().screen, phone.last_shown().count), (Screen::Admit, 4));
}

#[test]
fn nobody_goes_in_with_a_ticket_of_another_booking() {
    let mut server = venue(&FIVE);
    let mut phone = ready(&mut server);
    let shown = phone.scan("A-1");
    let before = phone.scans().len();
    let strange = id_of(&server, "A-9");
    for ticket_ids in [vec![strange], Vec::new(), vec![id_of(&server, "A-1")]] {
        phone.input(Input::Booking { scan_id: shown.scan_id.clone().unwrap(), ticket_ids });
        assert_eq!(phone.refused(), Some("unknown_guest"));
    }
    assert_eq!(phone.scans().len(), before, "nothing was recorded");
}

#[test]
fn the_same_code_again_offers_those_who_are_still_missing() {
    let mut server = venue(&["A-1", "A-2"]);
    let mut phone = ready(&mut server);
    let first = phone.scan("A-1");
    phone.pass(2_000);
    let again = phone.scan("A-1");
    assert_eq!((again.screen, &again.scan_id), (Screen::SameTicket, &first.scan_id));
    let ticket_ids = ids(&again.booking.unwrap());
    phone.input(Input::Booking { scan_id: again.scan_id.unwrap(), ticket_ids });
    assert_eq!(phone.last_shown().count, 1);
    phone.pass(2_000);
    let all = phone.scan("A-1");
    assert_eq!((all.screen, all.scan_id), (Screen::SameTicket, None), "nobody is left to come with it");
}

#[test]
fn a_search_shows_the_order_together() {
    let mut server = venue(&["A-1", "A-2", "A-3"]);
    server.allow_names("north", true);
    for (code, name) in [("A-1", "Ada Adler"), ("A-2", "Ben Bauer"), ("A-3", "Ada Cohen"), ("A-6", "Ada Dahl")] {
        server.name(code, name, None);
    }
    server.add_ticket("LATE", ticket(1));
    let mut phone = ready(&mut server);
    phone.settle(&mut server);
    phone.input(Input::Search { text: "ada".into() });
    let found = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Found { guests, .. } => Some(guests.clone()),
        _ => None,
    });
    let row = |guest: FoundGuest| (guest.name, guest.booking, guest.of_booking);
    let rows: Vec<_> = found.unwrap().into_iter().map(row).collect();
    let wanted = [("Ada Adler", 2, false), ("Ben Bauer", 2, true), ("Ada Cohen", 2, false), ("Ada Dahl", 0, false)];
    assert_eq!(rows, wanted.map(|(name, booking, of_booking)| (name.to_owned(), booking, of_booking)));
}
