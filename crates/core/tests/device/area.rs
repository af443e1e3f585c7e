//! A full area gives advice to hold the queue, and never refuses anybody (spec §4 `area_full`, S1 `max_concurrent`).

use admit_core::decide::Screen;
use admit_core::gate::Direction;
use admit_core::ids::GateId;
use admit_core::limits;
use admit_core::rule::GateChange;
use admit_core::wire::engine::{DecidedBy, Input};

use super::phone::Phone;
use super::server::Server;

const BEAT: &str = "/api/scanning/events/event/heartbeat";
const SYNC: &str = "/api/scanning/sync";

/// A phone at a gate whose area holds 100 persons. The server counts `inside` of them.
fn behind(inside: u32) -> (Phone, Server) {
    behind_gate("north", inside)
}
fn behind_gate(gate: &str, inside: u32) -> (Phone, Server) {
    let mut server = Server::new();
    server.gate_id = GateId::new(gate).unwrap();
    server.change_gate(gate, GateChange::Capacity(Some(100)));
    server.others_inside = Some(inside);
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    (phone, server)
}

#[test]
fn a_full_area_is_said_and_staff_decide() {
    let (mut phone, _) = behind(100);
    let asked = phone.scan("A-1");
    assert_eq!((asked.screen, asked.opened, asked.may_admit), (Screen::Full, false, 1));
    phone.input(Input::Count { scan_id: asked.scan_id.unwrap(), count: 1 });
    assert_eq!((phone.last_shown().screen, phone.last_shown().opened), (Screen::Admit, true), "it is advice");
}

#[test]
fn this_devices_own_unsent_scans_count_towards_it() {
    let (mut phone, _) = behind(98);
    phone.offline();
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    assert_eq!(phone.screen("A-2"), Screen::Admit);
    assert_eq!(phone.screen("A-3"), Screen::Full);
}

#[test]
fn of_them_only_who_went_in_counts_and_who_went_out_makes_room() {
    let (mut phone, _) = behind(99);
    phone.offline();
    assert_eq!([phone.screen("V-1"), phone.screen("OLD-1")], [Screen::Refuse, Screen::WrongTime]);
    assert_eq!(phone.screen("A-1"), Screen::Admit, "nobody went in before");
    assert_eq!(phone.screen("A-2"), Screen::Full);
    let (mut phone, _) = behind_gate("both", 100);
    phone.offline();
    phone.input(Input::Direction { direction: Direction::Out });
    assert_eq!(phone.screen("A-1"), Screen::Exit);
    phone.input(Input::Direction { direction: Direction::In });
    assert_eq!([phone.screen("A-2"), phone.screen("A-3")], [Screen::Admit, Screen::Full]);
}

/// The server has these scans, but its last count is older. FULL stays until the next count.
#[test]
fn this_devices_scans_count_towards_it_when_the_server_has_them_too() {
    let (mut phone, mut server) = behind(98);
    assert_eq!([phone.screen("A-1"), phone.screen("A-2")], [Screen::Admit, Screen::Admit]);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
    assert_eq!(phone.screen("A-3"), Screen::Full);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    assert_eq!(phone.screen("A-4"), Screen::Full, "now the server counts them itself");
    server.others_inside = Some(97);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    assert_eq!(phone.screen("A-3"), Screen::Admit, "somebody went");
}

/// A server's count includes everything that it had received by then, however late the receipt reaches the phone.
#[test]
fn an_upload_that_the_count_holds_already_is_not_counted_twice() {
    let (mut phone, mut server) = behind(97);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS - 1_500);
    assert_eq!([phone.screen("A-1"), phone.screen("A-2")], [Screen::Admit, Screen::Admit]);
    let upload = phone.take(SYNC);
    let receipt = server.answer(&upload, phone.at_ms).unwrap();
    assert_eq!(server.ids().len(), 1, "the second one is sent with the next");
    while !phone.asks(BEAT) {
        phone.pass(500);
    }
    let beat = phone.take(BEAT);
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    phone.answer(&beat, &reply);
    assert_eq!(phone.screen("A-3"), Screen::Full, "that the server has one of the two is not known yet");
    phone.answer(&upload, &receipt);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
    assert_eq!([phone.screen("A-4"), phone.screen("A-5")], [Screen::Admit, Screen::Full], "nor is the other one");
}

/// The server counts a person from its answer on. The upload then says that the door was opened.
#[test]
fn whom_the_server_let_in_by_its_word_is_not_counted_twice() {
    let mut server = Server::new();
    server.change_gate("north", GateChange::Capacity(Some(100)));
    server.others_inside = Some(98);
    let mut phone = Phone::new(1);
    phone.quick = true;
    phone.pair(&mut server);
    phone.input(Input::code("A-1"));
    let asked = phone.take("/api/scans");
    let word = server.answer(&asked, phone.at_ms).unwrap();
    phone.answer(&asked, &word);
    assert_eq!((phone.last_shown().screen, phone.last_shown().decided_by), (Screen::Admit, DecidedBy::Server));
    // The phone's upload is under way when the next heartbeat leaves.
    while !phone.asks(BEAT) {
        phone.pass(500);
        for sent in std::mem::take(&mut phone.requests) {
            let answered = !sent.is(BEAT) && !sent.is(SYNC);
            match Some(&sent).filter(|_| answered).and_then(|sent| server.answer(sent, phone.at_ms)) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
    }
    server.others_inside = Some(99);
    let beat = phone.take(BEAT);
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    phone.answer(&beat, &reply);
    phone.offline();
    assert_eq!(phone.view().unsent, 1);
    assert_eq!([phone.screen("A-2"), phone.screen("A-3")], [Screen::Admit, Screen::Full]);
}

#[test]
fn what_was_undone_before_the_server_counted_it_is_as_if_it_had_not_been() {
    let (mut phone, _) = behind(99);
    phone.offline();
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    let entry = phone.last_shown().scan_id.clone();
    assert_eq!(phone.screen("A-2"), Screen::Full);
    phone.input(Input::Undo { scan_id: entry, keep: 0 });
    assert_eq!([phone.screen("A-2"), phone.screen("A-3")], [Screen::Admit, Screen::Full]);
    // Staff record an exit by mistake.
    let (mut phone, _) = behind_gate("both", 100);
    phone.offline();
    phone.input(Input::Direction { direction: Direction::Out });
    assert_eq!(phone.screen("A-1"), Screen::Exit);
    let exit = phone.last_shown().scan_id.clone();
    phone.input(Input::Undo { scan_id: exit, keep: 0 });
    phone.input(Input::Direction { direction: Direction::In });
    assert_eq!(phone.screen("A-2"), Screen::Full);
}

/// Persons went in although a restored server lacks their entries.
#[test]
fn what_a_rolled_back_server_lost_counts_as_soon_as_it_says_so() {
    let (mut phone, mut server) = behind(98);
    let before = server.serial;
    assert_eq!([phone.screen("A-1"), phone.screen("A-2")], [Screen::Admit, Screen::Admit]);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    server.roll_back(before);
    assert_eq!(server.ids().len(), 0);
    for second in 0..40 {
        phone.pass_online(&mut server, 1_000);
        assert_eq!(phone.screen("A-3"), Screen::Full, "after {second} s");
    }
    assert!(server.ids().len() > 2, "it has them again");
}

#[test]
fn how_full_it_is_behind_one_gate_says_nothing_of_another() {
    let mut server = Server::new();
    for gate in ["north", "both"] {
        server.change_gate(gate, GateChange::Capacity(Some(100)));
    }
    server.others_inside = Some(100);
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    assert_eq!(phone.screen("A-1"), Screen::Full);
    server.gate_id = GateId::new("both").unwrap();
    phone.input(Input::Pair { code: server.pairing_link(), name: "Both".into() });
    let sent = phone.take("/api/scanning/pair");
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    phone.offline();
    assert_eq!(phone.view().gate_name, "Gate both");
    assert_eq!(phone.screen("A-2"), Screen::Admit);
}

/// Persons whom the phone let in at another gate don't fill this gate's area.
#[test]
fn of_what_it_did_at_another_gate_a_phone_counts_what_leads_to_the_same_area() {
    for (from, screen) in [("north", Screen::Admit), ("both", Screen::Full)] {
        let mut server = Server::new();
        server.change_gate("east", GateChange::Capacity(Some(100)));
        server.change_gate("north", GateChange::Zones(vec!["general".into()]));
        server.gate_id = GateId::new(from).unwrap();
        server.others_inside = Some(99);
        let mut phone = Phone::ready(1, &mut server);
        phone.offline();
        phone.scan("A-1");
        server.gate_id = GateId::new("east").unwrap();
        phone.requests.clear();
        phone.input(Input::Online);
        let beat = phone.take(BEAT);
        let reply = server.answer(&beat, phone.at_ms).unwrap();
        phone.answer(&beat, &reply);
        assert_eq!((phone.view().gate_name.as_str(), phone.view().unsent), ("Gate east", 1));
        assert_eq!(phone.screen("VIP-1"), screen, "{from}");
    }
}

#[test]
fn a_refusal_stays_a_refusal() {
    let (mut phone, _) = behind(500);
    assert_eq!(phone.screen("V-1"), Screen::Refuse);
}

#[test]
fn what_the_server_said_long_ago_holds_no_queue() {
    let (mut phone, _) = behind(100);
    phone.offline();
    phone.pass_offline(limits::AREA_KNOWN_MS + limits::HEARTBEAT_MS);
    assert_eq!(phone.screen("A-1"), Screen::Admit);
}
