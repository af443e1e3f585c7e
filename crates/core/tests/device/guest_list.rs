//! How a phone's guest names follow the server's: when the phone asks for them, in which form, and what it does with an
//! answer.

use admit_core::wire::engine::{Effect, Input, NamesView};

use super::phone::{Phone, Sent};
use super::server::{Reply, Server, ticket};

const NAMES: &str = "/api/scanning/events/event/names";

fn venue() -> Server {
    let mut server = Server::new();
    server.allow_names("north", true);
    server.name("A-1", "Amélie Brânză", None);
    server
}
fn ready() -> (Phone, Server) {
    let mut server = venue();
    (Phone::ready(1, &mut server), server)
}
/// Answers everything but requests for names, until the phone asks for names.
fn asks_for_names(phone: &mut Phone, server: &mut Server) -> Sent {
    for _ in 0..200 {
        let (names, rest) = std::mem::take(&mut phone.requests).into_iter().partition(|sent| sent.is(NAMES));
        phone.requests = rest;
        phone.settle(server);
        phone.requests.extend::<Vec<Sent>>(names);
        if phone.asks(NAMES) {
            return phone.take(NAMES);
        }
        phone.pass(500);
    }
    panic!("no names are asked for");
}
fn found(phone: &mut Phone, text: &str) -> (usize, bool) {
    phone.input(Input::Search { text: text.into() });
    let last = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Found { guests, more, .. } => Some((guests.len(), *more)),
        _ => None,
    });
    last.expect("an answer")
}

#[test]
fn names_are_asked_for_by_what_is_held_eight_times_and_then_whole() {
    let (mut phone, mut server) = ready();
    let mut wanted = Vec::new();
    for n in 1..=10 {
        server.name("A-1", &format!("Amélie {n}"), None);
        let held = phone.log.iter().rfind(|sent| sent.is(NAMES)).is_some();
        assert!(held);
        phone.pass_online(&mut server, 45_000);
        let last = phone.log.iter().rfind(|sent| sent.is(NAMES)).unwrap();
        wanted.push(last.path.contains("?since="));
    }
    assert_eq!(wanted, [true, true, true, true, true, true, true, true, false, true]);
}

#[test]
fn a_request_names_the_version_held_so_that_nothing_comes_where_nothing_changed() {
    let (mut phone, mut server) = ready();
    let version = server.names.values().map(|(_, serial)| *serial).max().unwrap();
    let first = phone.log.iter().find(|sent| sent.is(NAMES)).unwrap();
    assert_eq!(first.headers.get("if-none-match"), None, "nothing was held");
    server.serial += 1; // Something else happened.
    let sent = asks_for_names(&mut phone, &mut server);
    let epoch = server.epoch;
    assert_eq!(sent.headers["if-none-match"], format!("W/\"names.{epoch}.{version}\""));
    assert_eq!(server.answer(&sent, phone.at_ms).unwrap().status, 304);
}

#[test]
fn after_names_that_do_not_verify_and_after_a_rotated_key_the_whole_is_asked_for() {
    let (mut phone, mut server) = ready();
    server.name("A-1", "Amélie Brunel", None);
    let sent = asks_for_names(&mut phone, &mut server);
    assert!(sent.path.contains("?since="));
    let mut bad = server.answer(&sent, phone.at_ms).unwrap();
    bad.body[20] ^= 1;
    phone.answer(&sent, &bad);
    let sent = asks_for_names(&mut phone, &mut server);
    assert_eq!((sent.path.as_str(), found(&mut phone, "branza").0), (NAMES, 1), "those held stay until then");
    let good = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &good);
    assert_eq!(found(&mut phone, "brunel").0, 1);
    // The list was signed under the former key. Under the new key the phone can neither continue it nor call it
    // unchanged.
    phone.input(Input::Pair { code: server.pairing_link(), name: "North 1".into() });
    let pair = phone.take("/api/scanning/pair");
    let reply = server.answer(&pair, phone.at_ms).unwrap();
    phone.answer(&pair, &reply);
    let sent = asks_for_names(&mut phone, &mut server);
    assert_eq!((sent.path.as_str(), sent.headers.get("if-none-match")), (NAMES, None));
}

#[test]
fn a_new_list_has_its_new_guests_names_asked_for_at_once() {
    let (mut phone, mut server) = ready();
    server.name("A-2", "Łukasz Ördög", None);
    phone.pass_online(&mut server, 31_000);
    let asked = |phone: &Phone| phone.log.iter().filter(|sent| sent.is(NAMES)).count();
    let before = asked(&phone);
    server.add_ticket("LATE-1", ticket(1));
    server.name("LATE-1", "Bébé Añejo", None);
    phone.pass_online(&mut server, 2_000);
    assert_eq!((asked(&phone), found(&mut phone, "anejo").0), (before + 1, 1));
    server.add_ticket("LATE-2", ticket(1));
    server.name("LATE-2", "Zoë Amell", None);
    phone.pass_online(&mut server, 2_000);
    assert_eq!(
        (asked(&phone), found(&mut phone, "amell").0),
        (before + 2, 1),
        "though they were asked for a moment ago"
    );
}

#[test]
fn a_restart_throws_nothing_away_that_it_will_need_at_the_next() {
    let (mut phone, mut server) = ready();
    server.name("A-2", "Łukasz Ördög", None);
    phone.pass_online(&mut server, 60_000);
    let kept = phone.caches.clone();
    assert!(kept.keys().any(|key| key.starts_with("names:")) && kept.keys().any(|key| key.starts_with("manifest:")));
    phone.start();
    assert_eq!(phone.caches.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
}

#[test]
fn a_suspended_device_keeps_its_names() {
    let (mut phone, mut server) = ready();
    server.name("A-1", "Amélie Brunel", None);
    let sent = asks_for_names(&mut phone, &mut server);
    phone.answer(&sent, &Reply::problem(403, "device_suspended"));
    assert_eq!((phone.view().suspended, phone.view().names), (true, NamesView::Held { guests: 1 }));
}

#[test]
fn a_search_shows_fifty_and_says_whether_there_are_more() {
    let mut server = venue();
    for n in 0..51 {
        server.add_ticket(&format!("C-{n}"), ticket(1));
        server.name(&format!("C-{n}"), if n < 50 { "Crew" } else { "Crowd" }, None);
    }
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!([found(&mut phone, "crew"), found(&mut phone, "cr")], [(50, false), (50, true)]);
}
