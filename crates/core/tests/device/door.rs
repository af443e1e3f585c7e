//! Tests of the screen for a code, and the scan that the phone records.

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Screen;
use admit_core::gate::Direction;
use admit_core::ids::GateId;
use admit_core::scan::{Method, Outcome, ScanKind, Stage};
use admit_core::short_code::ShortCode;
use admit_core::ticket::TicketRules;
use admit_core::wire::engine::{Effect, Input, Phase};

use super::phone::{EVENING, Phone};
use super::server::{Server, ticket};

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}

fn at_gate(gate: &str) -> (Phone, Server) {
    let mut server = Server::new();
    server.gate_id = GateId::new(gate).unwrap();
    (Phone::ready(1, &mut server), server)
}

#[test]
fn each_answer_of_decide_has_its_screen() {
    let (mut phone, _) = ready();
    assert_eq!(phone.view().phase, Phase::Ready);
    let cases = [
        ("A-1", Screen::Admit, Outcome::Valid, None),
        ("V-1", Screen::Refuse, Outcome::Invalid, Some("ticket_voided")),
        ("VIP-1", Screen::WrongPlace, Outcome::GateAccessDenied, Some("wrong_gate")),
        ("OLD-1", Screen::WrongTime, Outcome::Expired, Some("expired")),
        ("nobody knows this", Screen::NotInList, Outcome::Invalid, Some("unknown_code")),
    ];
    for (code, screen, outcome, reason) in cases {
        let shown = phone.scan(code);
        assert_eq!((shown.screen, shown.outcome, shown.reason.as_deref()), (screen, outcome, reason), "{code}");
        assert_eq!(shown.opened, outcome == Outcome::Valid, "{code}");
        assert_eq!(shown.can_override, outcome != Outcome::Valid, "{code}: the event has a PIN");
    }
    let (early, late) = (phone.scan("VIP-1"), phone.scan("OLD-1"));
    assert_eq!((early.right_gates, early.expires_at), (vec!["Gate east".to_owned()], None));
    assert_eq!((late.right_gates, late.expires_at.map(|at| at.ms())), (vec![], Some(EVENING - 1_000)));
    assert!(!late.can_undo, "it let nobody in");
    // Staff can read this short code to a colleague, who types it into another phone.
    let short = ShortCode::of(&BarcodeHash::of("A-1")).to_string();
    assert_eq!((phone.scan("A-1").short_code, phone.view().own_admitted), (short, 1));
    assert_eq!(phone.view().history.len(), 7);
}

#[test]
fn nobody_who_wants_in_is_sent_to_a_way_out() {
    let mut server = Server::new();
    let gate_ids = vec![GateId::new("exit").unwrap(), GateId::new("east").unwrap()];
    server.add_ticket("EAST-1", TicketRules { gate_ids, ..ticket(1) });
    assert_eq!(Phone::ready(1, &mut server).scan("EAST-1").right_gates, ["Gate east"]);
    // The ticket is bound by its zone alone. At a gate of another zone the screen names the entry gates and not the
    // exit.
    server.gate_id = GateId::new("east").unwrap();
    assert_eq!(Phone::ready(2, &mut server).scan("A-1").right_gates, ["Gate both", "Gate north"]);
}

#[test]
fn a_second_scan_of_a_ticket_says_where_and_when_the_first_was() {
    let mut server = Server::new();
    let mut first = Phone::ready(1, &mut server);
    let mut second = Phone::ready(2, &mut server);
    let admitted = first.scan("A-1");
    first.settle(&mut server);
    second.pass_online(&mut server, 1_000);
    let shown = second.scan("A-1");
    assert_eq!(shown.screen, Screen::AlreadyIn);
    let last = shown.last_entry.unwrap();
    assert_eq!((last.gate.as_str(), last.at, last.own), ("Gate north", admitted.at, false));
}

#[test]
fn a_repeat_within_a_minute_is_the_same_ticket_again_and_nothing_is_recorded() {
    let (mut phone, _) = ready();
    phone.scan("A-1");
    let rows = phone.rows.len();
    phone.pass(4_000);
    let shown = phone.scan("A-1");
    assert_eq!(shown.screen, Screen::SameTicket);
    assert_eq!((shown.same_ticket_ms, shown.scan_id), (Some(4_000), None));
    assert_eq!(phone.rows.len(), rows);
    phone.pass(57_000);
    let shown = phone.scan("A-1");
    assert_eq!(shown.screen, Screen::AlreadyIn, "after a minute it is a duplicate");
    assert!(shown.last_entry.unwrap().own);
}

#[test]
fn only_an_opened_door_makes_a_repeat_the_same_ticket() {
    let (mut phone, _) = ready();
    for _ in 0..2 {
        assert_eq!(phone.screen("V-1"), Screen::Refuse);
    }
    assert_eq!(phone.scans().len(), 2);
}

#[test]
fn text_that_can_be_no_code_is_recorded_by_its_hash_and_shown_as_not_a_ticket() {
    let (mut phone, _) = ready();
    let long = "x".repeat(4_296);
    for text in [long.as_str(), "a\0b", "   "] {
        let shown = phone.scan(text);
        assert_eq!((shown.screen, shown.scan_id, shown.can_override), (Screen::NotATicket, None, false));
        let scan = phone.scans().pop().unwrap();
        assert_eq!((scan.barcode_hash, scan.raw_hash), (Some(BarcodeHash::of(text)), Some(BarcodeHash::of(text))));
        assert_eq!((scan.outcome, scan.opened), (Outcome::Invalid, false));
    }
    let (mut at_exit, _) = at_gate("exit");
    at_exit.scan("   ");
    assert_eq!(at_exit.scans()[0].kind, ScanKind::Exit, "somebody wanted out with it");
    assert_eq!(phone.scans()[0].kind, ScanKind::Entry);
    assert_eq!(phone.screen("🎟 Ünïcode of another vendor"), Screen::NotInList);
}

#[test]
fn a_code_is_found_in_each_spelling_and_both_hashes_are_recorded() {
    let mut server = Server::new();
    server.add_ticket("3KQR7F924M1X", super::server::ticket(1));
    server.add_ticket("7d7e3f0a-0000-4000-8000-000000000000", super::server::ticket(1));
    let mut phone = Phone::ready(1, &mut server);
    let url = "https://tickets.example/passes?token=7d7e3f0a-0000-4000-8000-000000000000";
    for (read, held) in [("3KQR-7F92-4M1X", "3KQR7F924M1X"), (url, "7d7e3f0a-0000-4000-8000-000000000000")] {
        assert_eq!(phone.screen(read), Screen::Admit);
        let scan = phone.scans().pop().unwrap();
        assert_eq!((scan.barcode_hash, scan.raw_hash), (Some(BarcodeHash::of(held)), Some(BarcodeHash::of(read))));
    }
}

#[test]
fn the_log_counts_from_one_and_each_scan_names_the_digest_before() {
    let (mut phone, mut server) = ready();
    for code in ["A-1", "V-1", "A-2"] {
        phone.scan(code);
    }
    phone.settle(&mut server);
    phone.start();
    phone.scan("A-3");
    let scans = phone.scans();
    assert_eq!(scans.iter().map(|scan| scan.seq).collect::<Vec<_>>(), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(scans[0].prev, Some([0; 16]));
    for pair in scans.windows(2) {
        assert_eq!(pair[1].prev, Some(admit_core::sign::prev_of(&admit_core::sign::content_digest(&pair[0]))));
        assert_eq!(pair[0].log_id, pair[1].log_id);
        assert!(pair[0].at < pair[1].at, "at rises along seq");
    }
}

#[test]
fn a_gate_that_leads_out_records_exits() {
    let (mut phone, mut server) = at_gate("exit");
    let mut other = {
        server.gate_id = GateId::new("north").unwrap();
        Phone::ready(2, &mut server)
    };
    server.gate_id = GateId::new("exit").unwrap();
    other.scan("A-1");
    other.pass_online(&mut server, 100);
    phone.settle(&mut server);
    let shown = phone.scan("A-1");
    assert_eq!((shown.screen, shown.kind, shown.opened), (Screen::Exit, ScanKind::Exit, true));
    assert_eq!(phone.screen("A-1"), Screen::SameTicket, "a held code is one exit");
}

/// The persons of a party leave one after the other with the same code. A code that stays before the camera is one
/// exit. A code that is shown again is the next.
#[test]
fn the_next_of_a_party_leaves_from_five_seconds_on_while_any_is_inside() {
    let (mut phone, _) = at_gate("both");
    let party = phone.id_of("P-4");
    phone.input(Input::Count { scan_id: party, count: 2 });
    phone.input(Input::Direction { direction: Direction::Out });
    for (after_ms, screen) in [
        (1_000, Screen::Exit),
        (4_999, Screen::SameTicket),
        (1, Screen::Exit),
        (5_000, Screen::SameTicket),
        (54_999, Screen::SameTicket),
        (1, Screen::Exit),
    ] {
        phone.pass(after_ms);
        assert_eq!(phone.screen("P-4"), screen, "{after_ms} ms later");
    }
}

#[test]
fn at_a_gate_of_both_directions_the_operator_chooses_and_the_choice_survives_a_restart() {
    let (mut phone, _) = at_gate("both");
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    phone.input(Input::Direction { direction: Direction::Out });
    assert_eq!(phone.view().direction, Direction::Out);
    assert_eq!(phone.screen("A-1"), Screen::Exit);
    phone.start();
    assert_eq!(phone.view().direction, Direction::Out);
    phone.input(Input::Direction { direction: Direction::Both });
    assert_eq!(phone.refused(), Some("bad_direction"));
}

#[test]
fn every_field_of_the_record_says_what_the_device_knew() {
    let (mut phone, server) = ready();
    phone.input(Input::Operator { name: " Ana\u{0} ".into() });
    phone.input(Input::Code { text: "A-1".into(), other: None, method: Method::Manual });
    let scan = phone.scans().pop().unwrap();
    assert_eq!((scan.kind, scan.stage, scan.method, scan.count), (ScanKind::Entry, Stage::Final, Method::Manual, 1));
    assert_eq!((scan.epoch, scan.manifest_version), (Some(server.epoch), server.version));
    assert_eq!(scan.cursor, server.serial);
    assert_eq!(scan.operator.as_deref(), Some("Ana"));
    let basis = scan.basis.unwrap();
    assert_eq!((basis.within, basis.inside, basis.last_entry_at), (0, 0, None));
    assert_eq!(scan.clock.unwrap().session_id, "s1");
    assert_eq!(scan.ticket_id.unwrap().as_str(), "t-A-1");
}

/// The keys of a reader, read as a US keyboard and as the computer's own layout.
fn by_keys(us: &str, own: &str) -> Input {
    Input::Code { text: us.into(), other: Some(own.into()), method: Method::Qr }
}

#[test]
fn of_two_readings_of_one_code_the_one_that_a_ticket_holds_is_the_only_scan() {
    let (mut phone, _) = ready();
    phone.input(by_keys("Q!1", "A-1"));
    assert_eq!((phone.last_shown().screen, phone.scans().len()), (Screen::Admit, 1));
    // If neither reading is a ticket, or both are no code, the phone records one scan. It takes the reading by the
    // layout that found a ticket last.
    phone.input(by_keys("X-1", "Y-1"));
    assert_eq!((phone.last_shown().screen, phone.scans().len()), (Screen::NotInList, 2));
    assert_eq!(phone.scans()[1].barcode_hash, Some(BarcodeHash::of("Y-1")));
    phone.input(by_keys("\u{0}", "\u{1}"));
    assert_eq!((phone.last_shown().screen, phone.scans().len()), (Screen::NotATicket, 3));
    // Both readings are tickets: the layout that found a ticket last decides. Then a reader with the other layout is
    // used, and the phone learns its layout.
    phone.input(by_keys("A-1", "V-1"));
    assert_eq!(phone.last_shown().reason.as_deref(), Some("ticket_voided"));
    phone.input(by_keys("V-1", "Y-1"));
    phone.input(by_keys("X-1", "Y-1"));
    assert_eq!(phone.scans().last().unwrap().barcode_hash, Some(BarcodeHash::of("X-1")));
    // The camera gives one reading only, which says nothing about the keyboard layout of the reader.
    phone.input(by_keys("Q!1", "A-1"));
    phone.scan("V-1");
    phone.input(by_keys("X-1", "Y-1"));
    assert_eq!(phone.scans().last().unwrap().barcode_hash, Some(BarcodeHash::of("Y-1")));
}

#[test]
fn without_pairing_or_list_nothing_is_admitted() {
    let mut phone = Phone::new(1);
    assert_eq!(phone.view().phase, Phase::Unpaired);
    phone.input(Input::code("A-1"));
    assert_eq!(phone.refused(), Some("not_paired"));
    let mut server = Server::new();
    let code = server.pairing_link();
    phone.input(Input::Pair { code, name: "x".into() });
    let sent = phone.take("/api/scanning/pair");
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    assert_eq!(phone.view().phase, Phase::FirstSync);
    phone.input(Input::code("A-1"));
    assert_eq!(phone.refused(), Some("no_list"));
    assert!(phone.shown.is_empty() && phone.scans().is_empty());
}

#[test]
fn past_its_expiry_a_list_gives_no_plain_green() {
    let (mut phone, _) = ready();
    assert!(!phone.scan("A-1").list_expired);
    phone.pass_offline(1_000);
    phone.mono_ms += 13 * 3_600_000;
    phone.at_ms += 13 * 3_600_000;
    let shown = phone.scan("A-2");
    assert_eq!((shown.screen, shown.list_expired), (Screen::Admit, true), "the outcome is unchanged, shown amber");
    assert!(phone.view().list.as_ref().unwrap().expired);
}

/// The undo uses the method of the scan that it undoes. Otherwise the two scans could be about different subjects where
/// no ticket holds the code any more, for example after a restore.
#[test]
fn an_undo_finds_its_ticket_in_the_way_of_what_it_undoes() {
    let (mut phone, _) = ready();
    phone.scan("A-1");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    let scans = phone.scans();
    assert_eq!((scans[0].method, scans[1].method), (Method::Qr, Method::Qr));
}

#[test]
fn an_undo_is_a_revert_with_the_code_of_what_it_undoes() {
    let (mut phone, mut server) = ready();
    let admitted = phone.scan("A-1");
    assert!(admitted.can_undo);
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert!(phone.effects.iter().any(|it| matches!(it, Effect::Undone { count: 1, .. })));
    let revert = phone.scans().pop().unwrap();
    assert_eq!((revert.kind, revert.target_scan_id, revert.keep), (ScanKind::Revert, admitted.scan_id.clone(), 0));
    assert_eq!((revert.epoch, revert.manifest_version), (Some(server.epoch), server.version));
    assert_eq!(revert.barcode_hash, Some(BarcodeHash::of("A-1")));
    assert_eq!(revert.ticket_id, admitted.ticket_id);
    assert_eq!(phone.view().own_admitted, 0);
    assert_eq!(phone.view().history[0].reverted, 1);
    assert_eq!(phone.screen("A-1"), Screen::Admit, "the ticket is free again, at once");
    phone.input(Input::Undo { scan_id: admitted.scan_id, keep: 0 });
    assert_eq!(phone.refused(), Some("nothing_to_undo"), "an undone scan is undone");
    phone.settle(&mut server);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.reduced_code("A-1").state.within, 1);
}

#[test]
fn nothing_is_undone_where_nobody_was_let_in() {
    let (mut phone, _) = ready();
    let refused = phone.id_of("V-1");
    phone.input(Input::Undo { scan_id: Some(refused), keep: 0 });
    assert_eq!(phone.refused(), Some("nothing_to_undo"));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(phone.scans().len(), 1);
}

fn typed(phone: &mut Phone, text: &str) {
    phone.input(Input::Code { text: text.into(), other: None, method: Method::Manual });
}

/// The code of a pass is too long to type. Its short code means the ticket, offline too.
#[test]
fn a_short_code_that_staff_type_is_the_ticket_itself() {
    let (mut phone, mut server) = ready();
    phone.offline();
    let short = ShortCode::of(&BarcodeHash::of("A-1")).to_string();
    typed(&mut phone, &short.replace('-', " ").to_lowercase());
    let scans = phone.scans();
    let scan = scans.last().unwrap();
    assert_eq!((scan.method, scan.outcome, scan.opened), (Method::Manual, Outcome::Valid, true));
    assert_eq!(scan.ticket_id.as_ref().map(|id| id.as_str()), Some("t-A-1"));
    assert_eq!((scan.barcode_hash, scan.raw_hash), (None, None), "no code was read");
    assert_eq!(phone.scan("A-1").screen, Screen::SameTicket, "it is one ticket however it came");
    // The phone knows this ticket only from the changes feed.
    server.add_ticket("NEW-1", ticket(1));
    phone.pass_online(&mut server, 120_000);
    typed(&mut phone, &ShortCode::of(&BarcodeHash::of("NEW-1")).to_string());
    assert_eq!(phone.scans().last().unwrap().ticket_id.as_ref().map(|id| id.as_str()), Some("t-NEW-1"));
}

#[test]
fn a_short_code_of_nobody_or_of_a_reader_is_a_code_like_others() {
    let (mut phone, mut server) = ready();
    let short = ShortCode::of(&BarcodeHash::of("A-1")).to_string();
    assert_eq!(phone.scan(&short).screen, Screen::NotInList, "no reader reads short codes");
    typed(&mut phone, "ZZZZ-ZZZZ");
    assert_eq!(phone.scans().last().unwrap().barcode_hash, Some(BarcodeHash::of("ZZZZ-ZZZZ")));
    // A ticket's own code takes precedence over another ticket's short code.
    server.add_ticket(&ShortCode::of(&BarcodeHash::of("A-1")).to_string(), ticket(1));
    let mut phone = Phone::ready(2, &mut server);
    typed(&mut phone, &short);
    assert_eq!(
        phone.scans().last().unwrap().ticket_id.as_ref().map(|id| id.as_str()),
        Some(format!("t-{short}").as_str())
    );
}
