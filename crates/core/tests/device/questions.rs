//! Tests about which scans the phone asks the server before the door opens, and until which millisecond (S2 §2 "online
//! first").

use admit_core::decide::Screen;
use admit_core::ids::GateId;
use admit_core::limits;
use admit_core::scan::Stage;
use admit_core::wire::engine::{DecidedBy, Input, Row};
use admit_core::wire::scanning::{Rejected, SyncAnswer};
use admit_core::wire::scans::OnlineAnswer;

use super::phone::{Phone, Sent};
use super::server::{Reply, Server, ticket};

const ASK: &str = "/api/scans";
const SYNC: &str = "/api/scanning/sync";

/// A phone that knows its round trip to the server to be quick.
pub fn quick() -> (Phone, Server) {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.quick = true;
    phone.pair(&mut server);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    (phone, server)
}
pub fn code(phone: &mut Phone, text: &str) {
    phone.input(Input::code(text));
}
/// Whether the phone asks the server about a code. The question gets no answer.
fn is_asked(phone: &mut Phone, text: &str) -> bool {
    code(phone, text);
    phone.scans().last().unwrap().stage == Stage::Claim && phone.asks(ASK)
}
/// Lets the heartbeat measure the round trip. Nothing else is answered.
fn measured(phone: &mut Phone, server: &mut Server) {
    phone.input(Input::Online);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    phone.answer(&beat, &reply);
}
/// Answers everything but the question, until the phone has decided alone.
fn alone(phone: &mut Phone, server: &mut Server) {
    phone.requests.retain(|sent| !sent.is(ASK));
    phone.pass(limits::ASK_WAIT_MS);
    phone.settle(server);
}

/// Lets a minute pass in which only measurements of the round trip are answered.
fn way_measured(phone: &mut Phone, server: &mut Server) {
    for _ in 0..61 {
        phone.pass(1_000);
        for ping in std::mem::take(&mut phone.requests) {
            if ping.is_ping() {
                let reply = server.answer(&ping, phone.at_ms).unwrap();
                phone.answer(&ping, &reply);
            } else {
                phone.requests.push(ping);
            }
        }
    }
}

#[test]
fn what_this_phone_did_of_a_ticket_and_has_not_sent_keeps_it_from_asking_entry_or_undo() {
    // Columns: is the entry at the server, was it undone, and does the phone ask the server about the next scan?
    for (sent, undone, asked) in [(false, false, false), (true, false, true), (true, true, false), (false, true, false)]
    {
        let (mut phone, mut server) = quick();
        assert!(is_asked(&mut phone, "A-1"));
        phone.requests.retain(|sent| !sent.is(ASK));
        phone.pass(limits::ASK_WAIT_MS);
        if sent {
            phone.pass_online(&mut server, 7_000);
            assert_eq!(phone.view().unsent, 0);
        }
        if undone {
            phone.input(Input::Undo { scan_id: None, keep: 0 });
        }
        way_measured(&mut phone, &mut server);
        assert_eq!(phone.view().unsent > 0, !sent || undone);
        assert_eq!(is_asked(&mut phone, "A-1"), asked, "entry sent {sent}, undone {undone}");
    }
}

/// Lets a guest in without the server's answer. Returns the upload of the scan, with the answer that it would have had.
fn let_in_alone(phone: &mut Phone, server: &mut Server) -> (Sent, SyncAnswer) {
    assert!(is_asked(phone, "A-1"));
    phone.requests.retain(|sent| !sent.is(ASK));
    phone.pass(limits::ASK_WAIT_MS);
    phone.pass(7_000);
    let sent = phone.take(SYNC);
    let answer = server.answer(&sent, phone.at_ms).unwrap();
    (sent, serde_json::from_slice(&answer.body).unwrap())
}

/// Found by the simulator (seed 60003337 of level 0). The server could not read the scan of the first guest, and said
/// that the second may go in. The phone showed that answer although its own log said otherwise.
#[test]
fn what_the_server_could_not_read_is_received_and_its_word_knows_nothing_of_it() {
    let (mut phone, mut server) = quick();
    let (sent, mut answer) = let_in_alone(&mut phone, &mut server);
    let id = answer.processed.remove(0).to_string();
    // Claim and final are two items of one scan.
    let refused = |index| Rejected { scan_id: Some(id.clone()), index, reason: "no".into(), kept: true };
    answer.rejected = (0..2).map(refused).collect();
    phone.answer(&sent, &Reply::json(200, &answer));
    assert_eq!(phone.view().unsent, 0);
    way_measured(&mut phone, &mut server);
    assert!(!is_asked(&mut phone, "A-1"));
    phone.start();
    way_measured(&mut phone, &mut server);
    assert!(!is_asked(&mut phone, "A-1"), "also after a restart");
}

/// The network was bad for one guest and is good for the next.
#[test]
fn a_late_answer_to_one_question_decides_no_other_and_its_loss_ends_none() {
    for lost in [false, true] {
        let (mut phone, mut server) = quick();
        assert!(is_asked(&mut phone, "V-1"));
        let first = phone.take(ASK);
        let late = server.answer(&first, phone.at_ms).unwrap();
        phone.pass(limits::ASK_WAIT_MS);
        assert_eq!(phone.last_shown().decided_by, DecidedBy::Device);
        phone.pass_online(&mut server, 10_000);
        assert!(is_asked(&mut phone, "A-1"));
        let shown = phone.shown.len();
        if lost {
            phone.lose(&first);
        } else {
            // The late answer says nothing about how fast the network is now.
            phone.answer(&first, &late);
        }
        assert_eq!(phone.shown.len(), shown, "the next guest's question stands");
        let second = phone.take(ASK);
        let word = server.answer(&second, phone.at_ms).unwrap();
        phone.answer(&second, &word);
        let verdict = phone.last_shown();
        assert_eq!((verdict.screen, verdict.decided_by), (Screen::Admit, DecidedBy::Server), "lost {lost}");
    }
}

#[test]
fn of_a_duplicate_the_later_entry_is_told_and_of_one_entry_who_knows_more_of_it() {
    let (mut phone, mut server) = quick();
    server.add_ticket("TWO", ticket(2));
    let mut other = Phone::ready(2, &mut server);
    other.at_ms = phone.at_ms;
    phone.pass_online(&mut server, 2_000);
    let enter = |other: &mut Phone, server: &mut Server| {
        other.pass_online(server, 7_000);
        let party = other.id_of("TWO");
        other.input(Input::Count { scan_id: party, count: 1 });
        other.pass_online(server, 7_000);
        other.scans()[0].device_id.clone()
    };
    let asks = |phone: &mut Phone, server: &mut Server| {
        measured(phone, server);
        assert!(is_asked(phone, "TWO"));
        let sent = phone.take(ASK);
        let word = server.answer(&sent, phone.at_ms).unwrap();
        phone.answer(&sent, &word);
        assert_eq!(phone.last_shown().decided_by, DecidedBy::Server);
        phone.last_shown().last_entry.clone().unwrap()
    };
    let device = enter(&mut other, &mut server);
    phone.at_ms = other.at_ms;
    phone.pass_online(&mut server, 2_000);
    let second = other.scan("TWO");
    assert_eq!((second.screen, second.opened), (Screen::Admit, true), "one place was left");
    other.pass_online(&mut server, 7_000);
    // The phone knows the first entry from the changes. It knows the second one only from the server's answer.
    let told = asks(&mut phone, &mut server);
    assert_eq!((told.at, told.device_id, told.own), (second.at, None, false));
    phone.pass_online(&mut server, 2_000);
    let told = asks(&mut phone, &mut server);
    assert_eq!((told.at, told.device_id), (second.at, Some(device)), "by now it heard on which device that was");
}

/// Another device asks about a code and lets the guest in on the server's answer. Its final is not sent yet.
fn lets_in(seed: u64, server: &mut Server, at_ms: i64, text: &str) -> Phone {
    let mut other = Phone::new(seed);
    other.quick = true;
    other.at_ms = at_ms;
    other.pair(server);
    other.pass_online(server, limits::HEARTBEAT_MS);
    assert!(is_asked(&mut other, text));
    let sent = other.take(ASK);
    let word = server.answer(&sent, other.at_ms).unwrap();
    other.answer(&sent, &word);
    assert!(other.last_shown().opened);
    other
}

#[test]
fn a_claim_told_of_names_the_device_of_its_final_and_of_no_entry_at_another_gate() {
    for gate in ["north", "south"] {
        let (mut phone, mut server) = quick();
        let mut other = lets_in(2, &mut server, phone.at_ms, "A-1");
        // The changes tell this phone of the claim. The final is sent then, and only the server's answer tells the
        // phone of it.
        phone.at_ms = other.at_ms;
        phone.pass_online(&mut server, 2_000);
        other.at_ms = phone.at_ms;
        other.pass_online(&mut server, 7_000);
        let [claim, last] = &other.scans()[..] else { panic!("a claim and its final") };
        assert!(claim.at < last.at);
        measured(&mut phone, &mut server);
        assert!(is_asked(&mut phone, "A-1"));
        let sent = phone.take(ASK);
        let word = server.answer(&sent, phone.at_ms).unwrap();
        let mut word: OnlineAnswer = serde_json::from_slice(&word.body).unwrap();
        assert_eq!(word.last_scan_at, Some(last.at));
        word.last_gate_id = Some(GateId::new(gate).unwrap());
        phone.answer(&sent, &Reply::json(200, &word));
        let told = phone.last_shown().last_entry.clone().unwrap();
        let device = (gate == "north").then(|| claim.device_id.clone());
        assert_eq!((told.at, told.device_id), (last.at, device), "let in at north, told of {gate}");
    }
}

#[test]
fn an_answer_that_news_overtook_tells_of_its_own_entry_and_of_its_device() {
    for answered in [true, false] {
        let (mut phone, mut server) = quick();
        let mut other = lets_in(2, &mut server, phone.at_ms, "A-1");
        other.pass_online(&mut server, 7_000);
        let first = other.scans().pop().unwrap();
        let mut third = Phone::ready(3, &mut server);
        third.at_ms = other.at_ms;
        third.pass_online(&mut server, 2_000);
        phone.at_ms = third.at_ms;
        phone.pass_online(&mut server, 7_000);
        // The answer is slow on its way back. Meanwhile staff let in the second guest of that code by their own
        // decision.
        measured(&mut phone, &mut server);
        assert!(is_asked(&mut phone, "A-1"));
        let sent = phone.take(ASK);
        let word = server.answer(&sent, phone.at_ms).unwrap();
        third.at_ms = phone.at_ms;
        let refused = third.id_of("A-1");
        let (by, reason) = ("Ana".into(), "a copy, both guests are known".into());
        third.input(Input::Override { scan_id: refused, pin: "4711".into(), by, reason, count: 1 });
        third.pass_online(&mut server, 7_000);
        let second = third.scans().pop().unwrap();
        phone.settle(&mut server);
        if answered {
            phone.answer(&sent, &word);
        } else {
            phone.pass(limits::ASK_WAIT_MS);
        }
        let told = phone.last_shown().last_entry.clone().unwrap();
        let entry = if answered { first } else { second };
        assert_eq!((told.at, told.device_id), (entry.at, Some(entry.device_id)), "answered {answered}");
    }
}

#[test]
fn a_question_nobody_heard_the_end_of_is_closed_once_there_is_a_list_and_never_in_a_damaged_log() {
    let (mut phone, mut server) = quick();
    assert!(is_asked(&mut phone, "A-1"));
    let (rows, caches) = (phone.rows.clone(), std::mem::take(&mut phone.caches));
    phone.start();
    assert_eq!(phone.scans().len(), 1, "without a list nothing is drafted");
    phone.pass_online(&mut server, 5_000);
    let stages: Vec<_> = phone.scans().iter().map(|scan| (scan.stage, scan.opened)).collect();
    assert_eq!(stages, [(Stage::Claim, false), (Stage::Final, false)]);
    (phone.rows, phone.caches) = (rows, caches);
    let n = phone.rows.len() as u64 + 1;
    phone.rows.push(Row { n, text: r#"{"t":"scan","scan":{"colour":"red"}}"#.into() });
    phone.start();
    phone.pass_online(&mut server, 5_000);
    assert_eq!(phone.rows.iter().filter(|row| row.text.contains(r#""t":"scan""#)).count(), 2, "nothing was added");
}

#[test]
fn five_minutes_after_the_last_code_the_way_is_measured_no_more() {
    for (elapsed_ms, measured) in [(limits::IN_USE_MS - 1, true), (limits::IN_USE_MS, false)] {
        let (mut phone, mut server) = quick();
        code(&mut phone, "A-1");
        alone(&mut phone, &mut server);
        let already = limits::ASK_WAIT_MS;
        phone.requests.clear();
        phone.log.clear();
        // The page was frozen meanwhile, so no timer fired.
        phone.mono_ms += elapsed_ms - already;
        phone.at_ms += elapsed_ms - already;
        phone.input(Input::Tick);
        assert_eq!(phone.log.iter().any(|sent| sent.is_ping()), measured, "{elapsed_ms} ms");
    }
}
