//! Guests at the door: names where the gate allows them, search without a network, a check-in by hand (spec §5 "names",
//! S0 "QR scanning", "Smart merge protection").

use admit_core::decide::Screen;
use admit_core::event::EventStatus;
use admit_core::ids::TicketId;
use admit_core::manifest::{NamesInput, names_part, names_tail};
use admit_core::rule::{EventChange, TicketChange};
use admit_core::scan::{Method, ScanKind, Stage};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Effect, FoundGuest, Input, NamesView, Phase};
use admit_core::wire::manifest::{GuestName, NamesTail};
use admit_core::wire::scanning::SIGNATURE_HEADER;

use super::phone::{EVENING, Phone};
use super::server::{Reply, Server, ticket};

/// An event whose gate `north` allows names, with three named guests. One of them brings three more.
fn venue() -> Server {
    let mut server = Server::new();
    server.allow_names("north", true);
    server.name("A-1", "Amélie Brânză", None);
    server.name("A-2", "Łukasz Ördög", None);
    server.name("P-4", "Zoë Amell", None);
    server
}
fn ready() -> (Phone, Server) {
    let mut server = venue();
    (Phone::ready(1, &mut server), server)
}
fn id(code: &str) -> TicketId {
    TicketId::new(format!("t-{code}")).unwrap()
}
fn search(phone: &mut Phone, text: &str) -> Vec<FoundGuest> {
    phone.input(Input::Search { text: text.into() });
    let found = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Found { text: searched, guests, .. } if searched == text => Some(guests.clone()),
        _ => None,
    });
    found.expect("an answer to the search")
}
fn names_of(found: &[FoundGuest]) -> Vec<&str> {
    found.iter().map(|guest| guest.name.as_str()).collect()
}
fn pick(phone: &mut Phone, code: &str) {
    phone.input(Input::Guest { ticket_id: id(code) });
}
fn sealed(phone: &Phone) -> Vec<String> {
    let saved = phone.effects.iter().filter_map(|effect| match effect {
        Effect::Save { key, sealed: true, .. } => Some(key.clone()),
        _ => None,
    });
    saved.collect()
}

#[test]
fn a_gate_without_names_has_none_and_asks_for_none() {
    let mut server = Server::new();
    server.name("A-1", "Amélie Brânză", None);
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, 120_000);
    assert_eq!(phone.view().names, NamesView::Off);
    assert!(!phone.log.iter().any(|sent| sent.path.contains("/names")));
    assert!(search(&mut phone, "amelie").is_empty());
    assert_eq!(phone.scan("A-1").name, None);
}

#[test]
fn a_guest_is_found_by_any_part_of_the_name_whatever_its_accents_without_a_network() {
    let (mut phone, _) = ready();
    phone.offline();
    assert_eq!(phone.view().names, NamesView::Held { guests: 3 });
    for (text, found) in [
        ("amelie", vec!["Amélie Brânză"]),
        ("AMÉLIE", vec!["Amélie Brânză"]),
        ("branza am", vec!["Amélie Brânză"]),
        ("ame", vec!["Amélie Brânză", "Zoë Amell"]),
        ("lukasz", vec!["Łukasz Ördög"]),
        ("ordog", vec!["Łukasz Ördög"]),
        ("zo", vec!["Zoë Amell"]),
        ("z", vec![]),
        ("", vec![]),
        ("nobody", vec![]),
    ] {
        assert_eq!(names_of(&search(&mut phone, text)), found, "{text}");
    }
}

#[test]
fn names_are_saved_sealed_and_are_there_after_a_restart_without_a_network() {
    let (mut phone, mut server) = ready();
    assert_eq!(sealed(&phone), ["names:event"]);
    server.name("A-3", "Bébé Añejo", None);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(sealed(&phone).len(), 2, "what changed is kept beside the whole");
    phone.start();
    assert_eq!(names_of(&search(&mut phone, "anejo")), ["Bébé Añejo"]);
    assert_eq!(phone.view().names, NamesView::Held { guests: 4 });
    // A cached part that was tampered with is dropped whole and fetched again.
    phone.caches.insert("names:event".into(), b"{}".to_vec());
    phone.start();
    assert!(search(&mut phone, "anejo").is_empty());
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")));
    phone.pass_online(&mut server, 5_000);
    assert_eq!(names_of(&search(&mut phone, "anejo")), ["Bébé Añejo"]);
}

#[test]
fn names_follow_the_server_by_what_changed_and_are_not_asked_for_without_news() {
    let (mut phone, mut server) = ready();
    let asked = |phone: &Phone| phone.log.iter().filter(|sent| sent.path.contains("/names")).count();
    assert_eq!(asked(&phone), 1);
    phone.pass_online(&mut server, 300_000);
    assert_eq!(asked(&phone), 1, "nothing happened");
    server.name("A-1", "Amélie Brunel", None);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(names_of(&search(&mut phone, "amelie")), ["Amélie Brunel"]);
    assert!(phone.log.iter().any(|sent| sent.path.contains("/names?since=")));
    // Scans by other devices raise the event's serial. The phone then asks for names and is told that none changed.
    let before = asked(&phone);
    phone.scan("A-5");
    phone.pass_online(&mut server, 60_000);
    assert!((1..=4).contains(&(asked(&phone) - before)), "{}", asked(&phone) - before);
    assert_eq!(names_of(&search(&mut phone, "brunel")), ["Amélie Brunel"]);
}

#[test]
fn no_name_stays_when_the_gate_allows_them_no_more_nor_on_a_revoked_device() {
    let (mut phone, mut server) = ready();
    server.allow_names("north", false);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(phone.view().names, NamesView::Off);
    assert!(search(&mut phone, "amelie").is_empty());
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")), "{:?}", phone.caches.keys());
    pick(&mut phone, "A-1");
    assert_eq!(phone.refused(), Some("unknown_guest"));
    server.allow_names("north", true);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(names_of(&search(&mut phone, "amelie")), ["Amélie Brânză"], "and they come back");
    server.revoked = true;
    phone.scan("A-1");
    phone.pass_online(&mut server, 20_000);
    assert_eq!(phone.view().phase, Phase::Revoked);
    assert!(search(&mut phone, "amelie").is_empty());
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")), "{:?}", phone.caches.keys());
}

/// trust §2: the phone wipes names at the event's end and at the list's last moment, also offline.
#[test]
fn no_name_stays_past_the_lists_last_moment_on_a_phone_that_hears_nothing() {
    const LAST: i64 = EVENING + 12 * 3_600_000;
    let (mut phone, mut server) = ready();
    phone.offline();
    phone.sleep(LAST - phone.at_ms - 1_000);
    phone.input(Input::Tick);
    assert_eq!(names_of(&search(&mut phone, "amelie")), ["Amélie Brânză"], "good to its last second");
    assert_eq!(phone.scan("A-1").name.as_deref(), Some("Amélie Brânză"));
    let held = phone.caches.clone();
    phone.sleep(1_000);
    phone.input(Input::Tick);
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")), "{:?}", phone.caches.keys());
    assert_eq!(phone.view().names, NamesView::Off);
    assert!(search(&mut phone, "amelie").is_empty());
    assert_eq!(phone.scan("A-2").name, None);
    // A phone that was off at that moment wipes the names at its next start.
    phone.caches = held;
    phone.start();
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")), "{:?}", phone.caches.keys());
    assert!(search(&mut phone, "amelie").is_empty());
    // The phone does not ask for names again either.
    phone.pass_online(&mut server, 60_000);
    let asked = phone.log.iter().filter(|sent| sent.path.contains("/names")).count();
    assert_eq!((asked, phone.view().names), (1, NamesView::Off));
}

#[test]
fn no_name_stays_once_the_organiser_ends_the_event() {
    let (mut phone, mut server) = ready();
    server.change_event(EventChange::Status(EventStatus::Ended), phone.at_ms);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(phone.view().names, NamesView::Off);
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")), "{:?}", phone.caches.keys());
    server.change_event(EventChange::Status(EventStatus::Live), phone.at_ms);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(names_of(&search(&mut phone, "amelie")), ["Amélie Brânză"], "it goes on: and they come back");
}

#[test]
fn names_whose_signature_is_wrong_are_not_taken() {
    let mut server = venue();
    let mut phone = Phone::new(1);
    let code = server.pairing_link();
    phone.input(Input::Pair { code, name: "North 1".into() });
    for _ in 0..40 {
        for sent in std::mem::take(&mut phone.requests) {
            let Some(mut reply) = server.answer(&sent, phone.at_ms) else { continue };
            if sent.path.contains("/names") {
                reply.body = String::from_utf8(reply.body).unwrap().replace("Amélie", "Mallory").into_bytes();
            }
            phone.answer(&sent, &reply);
        }
        phone.pass(500);
    }
    assert_eq!(phone.view().names, NamesView::Loading);
    assert!(search(&mut phone, "mallory").is_empty() && sealed(&phone).is_empty());
}

#[test]
fn a_server_that_refuses_names_is_not_asked_again_under_the_same_list() {
    let mut server = venue();
    let mut phone = Phone::new(1);
    let code = server.pairing_link();
    phone.input(Input::Pair { code, name: "North 1".into() });
    let mut asked = 0;
    for _ in 0..200 {
        for sent in std::mem::take(&mut phone.requests) {
            let Some(mut reply) = server.answer(&sent, phone.at_ms) else { continue };
            if sent.path.contains("/names") {
                asked += 1;
                reply = Reply::problem(403, "names_not_allowed");
            }
            phone.answer(&sent, &reply);
        }
        phone.pass(500);
    }
    assert_eq!((asked, phone.view().phase), (1, Phase::Ready));
}

#[test]
fn a_picked_guest_is_a_scan_of_their_ticket_by_hand_which_the_server_counts() {
    let (mut phone, mut server) = ready();
    phone.input(Input::Operator { name: "Sam".into() });
    pick(&mut phone, "A-1");
    let shown = phone.last_shown().clone();
    assert_eq!((shown.screen, shown.opened, shown.name.as_deref()), (Screen::Admit, true, Some("Amélie Brânză")));
    let scan = phone.scans().pop().unwrap();
    assert_eq!((scan.method, scan.barcode_hash, scan.ticket_id.clone()), (Method::Manual, None, Some(id("A-1"))));
    assert_eq!(phone.last_shown().short_code, "T-A-1", "the end of the ticket's id: no code was read");
    assert_eq!(scan.operator.as_deref(), Some("Sam"));
    phone.pass_online(&mut server, 7_000);
    let reduced = server.reduced_code("A-1");
    assert_eq!((reduced.state.within, reduced.state.over, reduced.causes.len()), (1, 0, 0));
    // Their pass is used now, whoever holds it, and the search says so.
    phone.pass_online(&mut server, 61_000);
    assert_eq!(phone.screen("A-1"), Screen::AlreadyIn);
    let found = search(&mut phone, "amelie");
    assert_eq!((found[0].already_in, found[0].may_admit), (1, 0));
    assert!(found[0].reason.is_some());
}

#[test]
fn a_party_picked_by_hand_is_counted_and_what_remains_is_told() {
    let (mut phone, mut server) = ready();
    pick(&mut phone, "P-4");
    let asked = phone.last_shown().clone();
    assert_eq!((asked.screen, asked.may_admit), (Screen::AdmitParty, 4));
    phone.input(Input::Count { scan_id: asked.scan_id.unwrap(), count: 3 });
    let found = search(&mut phone, "zoe");
    assert_eq!((found[0].party_size, found[0].already_in, found[0].may_admit), (4, 3, 1));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.reduced_code("P-4").state.within, 3);
}

#[test]
fn a_check_in_by_hand_is_undone_like_any_other() {
    let (mut phone, mut server) = ready();
    pick(&mut phone, "A-1");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(search(&mut phone, "amelie")[0].already_in, 0);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.reduced_code("A-1").state.within, 0);
    let last = phone.scans().pop().unwrap();
    assert_eq!((last.kind, last.method, last.ticket_id), (ScanKind::Revert, Method::Manual, Some(id("A-1"))));
}

#[test]
fn a_flagged_guest_asks_staff_before_the_door_opens_by_code_or_by_hand() {
    let mut server = venue();
    server.name("A-7", "Max Flag", Some("Check ID"));
    let mut phone = Phone::ready(1, &mut server);
    let shown = phone.scan("A-7");
    assert_eq!((shown.screen, shown.opened, shown.flag.as_deref()), (Screen::Check, false, Some("Check ID")));
    assert_eq!(phone.scans().pop().unwrap().stage, Stage::Claim);
    phone.input(Input::Count { scan_id: shown.scan_id.unwrap(), count: 1 });
    assert!(phone.last_shown().opened);
    server.name("A-8", "Other Flag", Some("Unpaid"));
    phone.pass_online(&mut server, 60_000);
    pick(&mut phone, "A-8");
    assert_eq!(phone.last_shown().screen, Screen::Check);
}

/// S0 "Smart merge protection": a check-in on this phone survives a list that does not have it yet. Everything else in the list
/// still arrives.
#[test]
fn a_guest_scanned_offline_stays_in_when_the_list_is_refreshed_with_stale_data() {
    let (mut phone, mut server) = ready();
    phone.offline();
    phone.scan("A-1");
    pick(&mut phone, "A-2");
    // The list is refreshed before any of these scans is sent, so the server knows of no entry. The refresh brings a
    // new name and a voided ticket.
    server.name("A-1", "Amélie Brunel", None);
    server.change_ticket("A-2", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
    for _ in 0..120 {
        for sent in std::mem::take(&mut phone.requests) {
            match server.answer(&sent, phone.at_ms).filter(|_| !sent.is("/api/scanning/sync")) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.lose(&sent),
            }
        }
        phone.pass(500);
    }
    assert!(phone.view().unsent >= 2, "nothing was sent");
    let found = search(&mut phone, "amelie");
    assert_eq!((found[0].name.as_str(), found[0].already_in), ("Amélie Brunel", 1), "still in, under the new name");
    let found = search(&mut phone, "lukasz");
    assert_eq!(
        (found[0].already_in, found[0].reason.as_deref()),
        (1, Some("ticket_voided")),
        "still in, and the void reached the guest"
    );
    // Once the scans are sent, the server says the same.
    phone.pass_online(&mut server, 30_000);
    assert_eq!((server.reduced_code("A-1").state.within, server.reduced_code("A-2").state.within), (1, 1));
}

/// S0: "Device A and Device B can scan different guests offline, sync independently, and see each other's check-ins".
#[test]
fn two_devices_check_in_different_guests_offline_and_then_see_each_others() {
    let mut server = venue();
    let mut one = Phone::ready(1, &mut server);
    let mut two = Phone::ready(2, &mut server);
    one.offline();
    two.offline();
    pick(&mut one, "A-1");
    two.scan("A-2");
    assert_eq!(search(&mut two, "amelie")[0].already_in, 0, "nobody told it");
    one.pass_online(&mut server, 20_000);
    two.pass_online(&mut server, 40_000);
    one.pass_online(&mut server, 40_000);
    for phone in [&mut one, &mut two] {
        assert_eq!(search(phone, "amelie")[0].already_in, 1);
        assert_eq!(search(phone, "lukasz")[0].already_in, 1);
        pick(phone, "A-3");
        assert_eq!(phone.refused(), Some("unknown_guest"), "of A-3 there is no name");
    }
    assert_eq!(two.screen("A-1"), Screen::AlreadyIn);
    assert!(server.reduced_code("A-1").causes.is_empty() && server.reduced_code("A-2").causes.is_empty());
}

#[test]
fn a_new_guest_reaches_the_door_with_their_ticket() {
    let (mut phone, mut server) = ready();
    server.add_ticket("B-1", ticket(2));
    server.name("B-1", "Nova Newcomer", None);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(search(&mut phone, "newcomer")[0].may_admit, 2);
    pick(&mut phone, "B-1");
    assert_eq!(phone.last_shown().screen, Screen::AdmitParty);
}

#[test]
fn a_verdict_shows_the_fields_that_the_organiser_chose_and_no_others() {
    let mut server = venue();
    server.give_fields("A-1", &[("Company", "ACME"), ("Table", "7"), ("Diet", "vegan")]);
    server.give_fields("A-2", &[("Table", "9")]);
    server.show_fields(&["Table", "Company"], EVENING - 1_000);
    let mut phone = Phone::ready(1, &mut server);
    let fields = |phone: &mut Phone, code: &str| -> Vec<(String, String)> {
        let shown = phone.scan(code).fields;
        shown.into_iter().map(|field| (field.label, field.value)).collect()
    };
    let wanted = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
    };
    assert_eq!(fields(&mut phone, "A-1"), wanted(&[("Table", "7"), ("Company", "ACME")]));
    assert_eq!(fields(&mut phone, "A-2"), wanted(&[("Table", "9")]));
    assert_eq!(fields(&mut phone, "P-4"), wanted(&[]));
    let whole = |phone: &Phone| phone.log.iter().filter(|sent| sent.path.ends_with("/names")).count();
    let asked = whole(&phone);
    // If one guest changes, the phone receives only that change.
    server.give_fields("A-1", &[("Company", "ACME"), ("Table", "8")]);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(fields(&mut phone, "A-1"), wanted(&[("Table", "8"), ("Company", "ACME")]));
    assert_eq!(whole(&phone), asked, "only what changed");
    // If the organiser shows other fields, the phone receives all guests in one answer. It keeps no field that is not
    // shown any more.
    server.show_fields(&["Company"], phone.at_ms);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(fields(&mut phone, "A-1"), wanted(&[("Company", "ACME")]));
    assert_eq!(fields(&mut phone, "A-2"), wanted(&[]));
    let held = phone.caches.iter().filter(|(key, _)| key.starts_with("names:"));
    let texts: Vec<String> = held.map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect();
    assert!(texts.iter().any(|text| text.contains("ACME")));
    assert!(!texts.iter().any(|text| text.contains("Table") || text.contains("vegan")), "{texts:?}");
    // The phone drops the fields together with the names when the gate no longer allows names.
    server.allow_names("north", false);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(fields(&mut phone, "A-1"), wanted(&[]));
    assert!(!phone.caches.keys().any(|key| key.starts_with("names:")));
}

#[test]
fn a_search_of_twenty_thousand_names_shows_the_first_fifty_and_says_that_there_are_more() {
    let mut server = venue();
    let mut phone = Phone::new(1);
    let code = server.pairing_link();
    phone.input(Input::Pair { code, name: "North 1".into() });
    let guest = |n: usize| GuestName {
        ticket_id: TicketId::new(format!("g-{n}")).unwrap(),
        name: format!("Guest Nümber {n:05}"),
        party_size: 1,
        note: None,
        flag: None,
        fields: Vec::new(),
    };
    let names: Vec<GuestName> = (0..20_000).map(guest).collect();
    for _ in 0..40 {
        for sent in std::mem::take(&mut phone.requests) {
            let Some(mut reply) = server.answer(&sent, phone.at_ms) else { continue };
            if sent.path.contains("/names") && reply.status == 200 {
                let key = server.keys.keys().next().unwrap();
                let (organization_id, event_id) = (&server.organization_id, &server.event_id);
                let input = NamesInput { organization_id, event_id, version: server.serial, labels: &[] };
                let large = names_part(input, names.clone());
                let at = Timestamp::clamped(phone.at_ms);
                let tail = NamesTail { generated_at: at, epoch: server.epoch, serial: server.serial };
                let (tail, signature) = names_tail(&large.bytes, &tail, key);
                let body = [large.bytes, tail].concat();
                reply = Reply { status: 200, headers: Vec::new(), body }.with(SIGNATURE_HEADER, signature);
            }
            phone.answer(&sent, &reply);
        }
        phone.pass(500);
    }
    assert_eq!(phone.view().names, NamesView::Held { guests: 20_000 });
    let found = search(&mut phone, "number 19");
    assert_eq!(found.len(), 50);
    let more = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Found { more, .. } => Some(*more),
        _ => None,
    });
    assert_eq!(more, Some(true));
    assert_eq!(names_of(&search(&mut phone, "19999")), ["Guest Nümber 19999"]);
    assert_eq!(names_of(&search(&mut phone, "Guest Nümber 00007")), ["Guest Nümber 00007"], "the whole name too");
}
