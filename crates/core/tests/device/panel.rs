//! The view that the page must draw, and when the page is told to draw it.

use admit_core::decide::Screen;
use admit_core::limits;
use admit_core::wire::engine::{Effect, HistoryRow, Input, Phase};

use super::phone::Phone;
use super::server::Server;

const ASK: &str = "/api/scans";
const SYNC: &str = "/api/scanning/sync";

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn rows(phone: &Phone) -> Vec<(Screen, u32, u32)> {
    let row = |row: &HistoryRow| (row.screen, row.count, row.reverted);
    phone.view().history.iter().map(row).collect()
}
fn exported(phone: &mut Phone) -> usize {
    phone.input(Input::Export);
    let lines = phone.effects.iter().rev().find_map(|effect| match effect {
        Effect::Export { text, .. } => Some(text.lines().count()),
        _ => None,
    });
    lines.expect("a file")
}

#[test]
fn history_has_one_row_a_guest_the_newest_first_whatever_was_asked_about_them() {
    let (mut phone, _) = ready();
    let party = phone.id_of("P-4");
    assert_eq!(rows(&phone), [(Screen::AdmitParty, 0, 0)], "staff are asked");
    phone.input(Input::Count { scan_id: party.clone(), count: 4 });
    assert_eq!(rows(&phone), [(Screen::Admit, 4, 0)], "and have answered");
    phone.input(Input::Undo { scan_id: Some(party), keep: 1 });
    assert_eq!(rows(&phone), [(Screen::Admit, 4, 3)]);
    phone.scan("V-1");
    assert_eq!(rows(&phone), [(Screen::Refuse, 0, 0), (Screen::Admit, 4, 3)]);
}

#[test]
fn a_guest_the_server_is_asked_about_is_history_only_when_something_was_shown() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.quick = true;
    phone.pair(&mut server);
    phone.input(Input::code("A-1"));
    assert!(phone.asks(ASK) && rows(&phone).is_empty());
    phone.pass(limits::ASK_WAIT_MS);
    assert_eq!(rows(&phone), [(Screen::Admit, 1, 0)]);
}

#[test]
fn an_upload_is_said_while_it_is_under_way_and_its_next_try_while_it_waits_after_a_failure() {
    let (mut phone, mut server) = ready();
    phone.requests.clear();
    let said = |phone: &Phone| (phone.view().sending, phone.view().retry_in_ms.is_some());
    assert_eq!(said(&phone), (0, false));
    phone.scan("A-1");
    assert_eq!(said(&phone), (1, false));
    let sent = phone.take(SYNC);
    phone.scan("A-2");
    phone.lose(&sent);
    assert_eq!(said(&phone), (0, true));
    let first = phone.view().retry_in_ms.unwrap();
    assert!((750..=1_000).contains(&first), "{first}");
    phone.pass(400);
    phone.scan("A-3");
    assert_eq!(phone.view().retry_in_ms, Some(first - 400), "from now on");
    phone.pass(1_000);
    assert_eq!(said(&phone), (1, false), "it is under way again");
    let again = phone.take(SYNC);
    let reply = server.answer(&again, phone.at_ms).unwrap();
    phone.answer(&again, &reply);
    assert_eq!((phone.view().unsent, said(&phone)), (2, (0, false)), "what waits for its turn waits after no failure");
}

#[test]
fn an_export_is_of_the_unsent_scans_and_of_all_where_none_is_left() {
    let (mut phone, mut server) = ready();
    phone.scan("A-1");
    phone.scan("A-2");
    phone.pass_online(&mut server, 7_000);
    assert_eq!((phone.view().unsent, exported(&mut phone)), (0, 2));
    phone.requests.clear();
    phone.scan("A-3");
    assert_eq!((phone.view().unsent, exported(&mut phone)), (1, 1));
    // After a revocation the exported file is the owner's own copy of the scans.
    let mut phone = Phone::ready(2, &mut server);
    phone.scan("A-4");
    phone.pass_online(&mut server, 7_000);
    server.revoked = true;
    phone.scan("A-5");
    phone.pass_online(&mut server, 1_000);
    phone.scans().iter().for_each(|scan| assert!(scan.opened));
    assert_eq!((phone.view().phase, exported(&mut phone)), (Phase::Revoked, 2));
}

#[test]
fn a_row_that_shows_nothing_new_draws_nothing_and_no_timer_is_set_twice() {
    let (mut phone, mut server) = ready();
    phone.input(Input::Operator { name: "Ana".into() });
    phone.pass_online(&mut server, 1_000);
    let rows = phone.rows.len();
    phone.effects.clear();
    phone.input(Input::Operator { name: "Ana".into() });
    assert_eq!(phone.rows.len(), rows + 1);
    assert!(!phone.effects.iter().any(|effect| matches!(effect, Effect::View { .. } | Effect::Wake { .. })));
}
