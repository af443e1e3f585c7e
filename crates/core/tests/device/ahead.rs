//! Scans of a phone that the server may not have. The server's answer lacks them, so the phone must not open a second
//! door by it.

use admit_core::decide::Screen;
use admit_core::limits;
use admit_core::scan::Stage;
use admit_core::wire::engine::{DecidedBy, Input};

use super::phone::{Phone, Sent};
use super::questions::{code, quick};
use super::server::{Reply, Server, ticket};

const ASK: &str = "/api/scans";
const SYNC: &str = "/api/scanning/sync";

fn told(phone: &mut Phone, server: &mut Server, sent: &Sent) {
    let reply = server.answer(sent, phone.at_ms).unwrap();
    phone.answer(sent, &reply);
}
/// Shows a code, and answers the phone's question to the server. Returns the screen.
fn confirmed(phone: &mut Phone, server: &mut Server, text: &str) -> Screen {
    code(phone, text);
    let sent = phone.take(ASK);
    told(phone, server, &sent);
    assert_eq!(phone.last_shown().decided_by, DecidedBy::Server);
    phone.last_shown().screen
}
/// Lets time pass while the server answers everything but uploads.
fn pass_without_uploads(phone: &mut Phone, server: &mut Server, ms: i64) {
    let end = phone.at_ms + ms;
    while phone.at_ms < end {
        phone.pass(500);
        let (held, open) = std::mem::take(&mut phone.requests).into_iter().partition(|sent| sent.is(SYNC));
        phone.requests = open;
        phone.settle(server);
        let held: Vec<Sent> = held;
        phone.requests.extend(held);
    }
}

#[test]
fn of_a_party_that_is_partly_in_only_the_rest_may_go_in_while_the_count_is_unsent() {
    let (mut phone, mut server) = quick();
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    let upload = phone.take(SYNC);
    told(&mut phone, &mut server, &upload);
    let party = phone.id_of("P-4");
    phone.input(Input::Count { scan_id: party, count: 3 });
    assert!(!phone.asks(SYNC), "its turn comes six seconds after the last upload");
    phone.pass(2_000);
    code(&mut phone, "P-4");
    assert!(!phone.asks(ASK), "the server would say four");
    assert_eq!((phone.last_shown().may_admit, phone.last_shown().decided_by), (1, DecidedBy::Device));
}

#[test]
fn whom_this_phone_let_in_alone_it_lets_in_no_second_time_because_the_server_has_not_heard() {
    let (mut phone, mut server) = quick();
    phone.pass_offline(20_000);
    assert_eq!(phone.screen("A-2"), Screen::Admit);
    let turned_away = Reply::problem(429, "rate_limited").with("retry-after", 120);
    phone.pass(limits::SYNC_EVERY_MS);
    let upload = phone.take(SYNC);
    phone.answer(&upload, &turned_away);
    pass_without_uploads(&mut phone, &mut server, 70_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-3"), Screen::Admit, "of other tickets it is asked");
    code(&mut phone, "A-2");
    assert!(!phone.asks(ASK));
    assert_eq!((phone.last_shown().screen, phone.last_shown().opened), (Screen::AlreadyIn, false));
}

#[test]
fn of_an_entry_it_confirmed_the_server_is_asked_again_until_it_may_have_lost_it() {
    let (mut phone, mut server) = quick();
    let before = server.serial;
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    pass_without_uploads(&mut phone, &mut server, limits::SAME_TICKET_MS + 1_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::AlreadyIn, "it has the claim, and counts it");
    // The server is restored to a state before the claim. The phone learns of the new epoch and of nothing else.
    server.roll_back(before);
    pass_without_uploads(&mut phone, &mut server, limits::SAME_TICKET_MS + 60_000);
    code(&mut phone, "A-1");
    assert!(!phone.asks(ASK));
    assert_eq!(phone.last_shown().screen, Screen::AlreadyIn);
}

#[test]
fn a_count_is_not_signed_by_the_word_of_an_epoch_that_is_over() {
    let (mut phone, mut server) = quick();
    server.add_ticket("LATE-3", ticket(3));
    let before = server.serial - 1;
    let asked = confirmed(&mut phone, &mut server, "LATE-3");
    assert_eq!(asked, Screen::AdmitParty);
    let party = phone.last_shown().scan_id.clone().unwrap();
    server.roll_back(before);
    phone.pass_online(&mut server, 90_000);
    let epoch = phone.scans().last().unwrap().epoch;
    phone.input(Input::Count { scan_id: party, count: 3 });
    let shown = phone.last_shown().clone();
    let last = phone.scans().pop().unwrap();
    assert_eq!(last.stage, Stage::Final);
    assert_ne!(last.epoch, epoch, "what is signed is of the new epoch");
    assert!(last.cursor <= server.serial, "{} of {}", last.cursor, server.serial);
    assert_ne!(shown.decided_by, DecidedBy::Server);
}

#[test]
fn two_scans_that_cannot_be_read_are_offered_in_turn() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_offline(20_000);
    phone.scan("A-1");
    phone.scan("A-2");
    let second = phone.scans()[1].scan_id.clone();
    // The server can never read the first scan. It can read the second from the tenth minute on.
    let begun = phone.at_ms;
    while phone.at_ms < begun + 3 * limits::POISON_EVERY_MS {
        while phone.asks(SYNC) {
            let sent = phone.take(SYNC);
            let alone = sent.body.as_ref().unwrap().matches("\"scan_id\"").count() == 1;
            let readable = alone && sent.body.as_ref().unwrap().contains(second.as_str());
            if readable && phone.at_ms > begun + 600_000 {
                told(&mut phone, &mut server, &sent);
            } else {
                phone.answer(&sent, &Reply::problem(400, "malformed"));
            }
        }
        phone.requests.clear();
        phone.pass(1_000);
    }
    assert_eq!(server.ids(), [second.to_string()]);
    assert_eq!(phone.view().unsent, 1, "the other one is kept");
}

#[test]
fn after_a_long_sleep_the_time_is_asked_at_once() {
    for slept_ms in [limits::CLOCK_SLEEP_MS + 3_600_000, 2_400_000] {
        let mut server = Server::new();
        let mut phone = Phone::ready(1, &mut server);
        phone.pass_online(&mut server, 20_000);
        phone.log.clear();
        phone.sleep(slept_ms);
        phone.input(Input::Tick);
        phone.pass_online(&mut server, 2_000);
        assert!(phone.log.iter().any(|sent| sent.is("/api/scanning/time") && !sent.is_ping()), "{:?}", phone.log);
        phone.scan("A-1");
        let scan = phone.scans().pop().unwrap();
        assert!(scan.uncertainty_ms < 1_000, "± {}", scan.uncertainty_ms);
        assert!(scan.at.ms().abs_diff(phone.at_ms) < 2_000);
    }
}

#[test]
fn an_exchange_that_slept_on_its_way_is_made_again_at_once() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_offline(limits::CLOCK_EVERY_MS);
    phone.pass(limits::RETRY_MAX_MS);
    let exchange = phone.take("/api/scanning/time");
    let reply = server.answer(&exchange, phone.at_ms).unwrap();
    phone.sleep(2_400_000);
    phone.answer(&exchange, &reply);
    phone.pass(1_000);
    assert!(phone.asks("/api/scanning/time"));
}

#[test]
fn a_question_left_behind_at_another_event_is_closed_when_the_phone_is_back() {
    let (mut phone, mut server) = quick();
    server.add_ticket("LATE-3", ticket(3));
    assert_eq!(confirmed(&mut phone, &mut server, "LATE-3"), Screen::AdmitParty);
    let mut other = Server::new();
    other.event_id = "another".parse().unwrap();
    phone.pair(&mut other);
    phone.pair(&mut server);
    phone.pass_online(&mut server, 10_000);
    let stages: Vec<_> = phone.scans().iter().map(|scan| (scan.stage, scan.opened)).collect();
    assert_eq!(stages, [(Stage::Claim, false), (Stage::Final, false)]);
}
