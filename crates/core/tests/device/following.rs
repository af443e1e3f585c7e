//! Following the server: pairing, heartbeat, changes and their cache (spec D11, §5).

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Screen;
use admit_core::ids::{GateId, TicketId};
use admit_core::limits::HEARTBEAT_MS;
use admit_core::rule::TicketChange;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Effect, Input, Phase};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::{ChangedTicket, ChangesAnswer, Cursor, HeartbeatRequest, PairRequest};

use super::phone::Phone;
use super::server::{Reply, Server};

#[test]
fn a_phone_names_itself_durably_before_it_asks_to_be_paired() {
    let mut phone = Phone::new(1);
    phone.flushes = false;
    phone.input(Input::Pair { code: "https://x.example/scan/#pair=a-pairing-token".into(), name: "North".into() });
    assert_eq!(phone.view().phase, Phase::Pairing);
    assert!(phone.requests.is_empty());
    phone.flush_one();
    let sent = phone.take("/api/scanning/pair");
    let first: PairRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    assert_eq!((first.pairing_token.as_str(), first.name.as_deref()), ("a-pairing-token", Some("North")));
    assert_eq!(first.app_version.as_deref(), Some("1.0"));
    assert!(
        phone
            .effects
            .iter()
            .any(|it| { matches!(it, Effect::Send { server: Some(server), .. } if server == "https://x.example") })
    );
    // The answer is lost and the phone restarts: the same device id asks again.
    phone.start();
    phone.input(Input::Pair { code: "a-pairing-token".into(), name: "North".into() });
    let sent = phone.take("/api/scanning/pair");
    let second: PairRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    assert_eq!(first.device_id, second.device_id);
}

#[test]
fn no_two_draws_from_the_randomness_of_one_input_are_alike() {
    let mut phone = Phone::new(1);
    phone.input(Input::Pair { code: "a-pairing-token".into(), name: "North".into() });
    let Some(Entry::Log { device_id, log_id }) = phone.entries().pop() else { panic!("the phone has named itself") };
    assert_ne!(device_id.as_str()[..8], log_id.as_str()[..8]);
}

#[test]
fn a_phone_that_cannot_write_its_name_down_waits_for_no_pairing() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.flushes = false;
    phone.input(Input::Pair { code: server.pairing_link(), name: "North".into() });
    phone.fail_one("quota");
    assert_eq!((phone.view().phase, phone.refused()), (Phase::Blocked, Some("storage_blocked")));
    phone.flushes = true;
    phone.pass(61_000);
    assert_eq!(phone.view().phase, Phase::Unpaired, "storage is well again, and staff may pair it");
    phone.pair(&mut server);
    assert_eq!(phone.view().phase, Phase::Ready);
}

#[test]
fn a_key_that_cannot_be_written_down_is_asked_for_again_but_not_without_a_pause() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.input(Input::Pair { code: server.pairing_link(), name: "North".into() });
    phone.flushes = false;
    for turn in 0..3 {
        let sent = phone.take("/api/scanning/pair");
        let reply = server.answer(&sent, phone.at_ms).unwrap();
        phone.answer(&sent, &reply);
        phone.fail_one("quota");
        assert!(!phone.asks("/api/scanning/pair"), "turn {turn}");
        phone.pass(1_000);
    }
    phone.flushes = true;
    phone.pass_online(&mut server, 61_000);
    assert_eq!(phone.view().phase, Phase::Ready);
}

#[test]
fn what_is_no_pairing_code_is_refused() {
    let mut phone = Phone::new(1);
    for code in
        ["", "short", "https://x.example/passes?token=abc", "ftp://x/#pair=a-pairing-token", "with spaces in it"]
    {
        phone.input(Input::Pair { code: code.into(), name: "x".into() });
        assert_eq!(phone.refused(), Some("bad_pairing_code"), "{code}");
        phone.effects.clear();
    }
    assert!(phone.rows.is_empty() && phone.log.is_empty());
}

#[test]
fn a_used_or_expired_pairing_code_says_so_and_a_lost_answer_is_tried_again() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.input(Input::Pair { code: "a-pairing-token".into(), name: "x".into() });
    let sent = phone.take("/api/scanning/pair");
    phone.answer(&sent, &Reply::problem(410, "pairing_token_used"));
    assert_eq!((phone.view().phase, phone.refused()), (Phase::Unpaired, Some("pairing_failed")));
    assert_eq!(phone.view().message.as_deref(), Some("It is pairing_token_used."));
    phone.input(Input::Pair { code: "a-pairing-token".into(), name: "x".into() });
    let sent = phone.take("/api/scanning/pair");
    phone.lose(&sent);
    assert_eq!(phone.view().phase, Phase::Pairing);
    phone.pass(1_100);
    phone.pass_online(&mut server, 2_000);
    assert_eq!(phone.view().phase, Phase::Ready);
}

#[test]
fn a_server_that_is_busy_or_ill_does_not_end_a_pairing() {
    for (reply, phase) in [
        (Reply::problem(429, "too_many_requests"), Phase::Pairing),
        (Reply::problem(503, "unavailable"), Phase::Pairing),
        (Reply::html(404), Phase::Pairing),
        (Reply::problem(404, "pairing_token_unknown"), Phase::Unpaired),
    ] {
        let mut phone = Phone::new(1);
        phone.input(Input::Pair { code: "a-pairing-token".into(), name: "x".into() });
        let sent = phone.take("/api/scanning/pair");
        phone.answer(&sent, &reply);
        assert_eq!(phone.view().phase, phase, "{reply:?}");
    }
}

#[test]
fn a_heartbeat_says_every_thirty_seconds_how_the_phone_is() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.input(Input::Battery { percent: 41 });
    phone.scan("A-1");
    phone.pass_online(&mut server, 121_000);
    let beats: Vec<_> = phone.log.iter().filter(|sent| sent.path.contains("/heartbeat")).collect();
    assert_eq!(beats.len(), 6, "once when it was paired, once when it had the list, then each half minute");
    let beat: HeartbeatRequest = serde_json::from_str(beats[5].body.as_ref().unwrap()).unwrap();
    assert_eq!((beat.head, beat.pending, beat.battery, beat.manifest_version), (1, 0, Some(41), server.version));
    assert_eq!(beat.clock_offset_ms, Some(0));
}

#[test]
fn a_phone_that_is_sent_to_another_gate_scans_there() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    server.gate_id = GateId::new("east").unwrap();
    phone.pass_online(&mut server, 31_000);
    assert_eq!(phone.view().gate_name, "Gate east");
    assert_eq!(phone.screen("VIP-1"), Screen::Admit);
    phone.start();
    assert_eq!(phone.view().gate_name, "Gate east");
}

#[test]
fn a_void_reaches_a_phone_by_changes() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    server.change_ticket("A-1", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
    phone.pass_online(&mut server, 1_500);
    assert_eq!(phone.screen("A-1"), Screen::Refuse);
    server.change_ticket("A-1", TicketChange::Status(TicketStatus::Active), phone.at_ms);
    phone.pass_online(&mut server, 1_500);
    assert_eq!(phone.screen("A-1"), Screen::Admit, "and back");
}

#[test]
fn what_changes_told_survives_a_restart_without_network_and_many_pages() {
    let mut server = Server::new();
    for n in 0..150 {
        server.add_ticket(&format!("B-{n}"), super::server::ticket(1));
    }
    let mut phone = Phone::ready(1, &mut server);
    let mut other = Phone::ready(2, &mut server);
    for n in 0..150 {
        other.scan(&format!("B-{n}"));
        other.pass_online(&mut server, 6_000);
        phone.at_ms = other.at_ms;
        phone.pass_online(&mut server, 1_000);
    }
    let pages = phone.caches.keys().filter(|key| key.starts_with("changes:")).count();
    assert!((1..80).contains(&pages), "pages are folded: {pages}");
    phone.start();
    for n in 0..150 {
        assert_eq!(phone.screen(&format!("B-{n}")), Screen::AlreadyIn, "B-{n}");
    }
}

#[test]
fn after_a_lost_page_nothing_later_is_believed_and_it_is_asked_for_again() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let mut other = Phone::ready(2, &mut server);
    for n in 1..=6 {
        other.scan(&format!("A-{n}"));
        other.pass_online(&mut server, 6_000);
        phone.at_ms = other.at_ms;
        phone.pass_online(&mut server, 1_000);
    }
    let mut pages: Vec<String> = phone.caches.keys().filter(|key| key.starts_with("changes:")).cloned().collect();
    pages.sort();
    assert!(pages.len() >= 4, "{pages:?}");
    phone.caches.remove(&pages[1]);
    phone.start();
    assert!(phone.caches.keys().filter(|key| key.starts_with("changes:")).count() <= 1);
    phone.pass_online(&mut server, 2_000);
    for n in 1..=6 {
        assert_eq!(phone.screen(&format!("A-{n}")), Screen::AlreadyIn);
    }
}

#[test]
fn the_view_is_drawn_only_when_something_changed() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, 31_000);
    let drawn = |phone: &Phone| phone.effects.iter().filter(|it| matches!(it, Effect::View { .. })).count();
    let before = drawn(&phone);
    phone.pass_online(&mut server, 5_000);
    assert_eq!(drawn(&phone), before);
    phone.scan("A-1");
    assert!(drawn(&phone) > before);
}

#[test]
fn a_newer_list_outranks_what_changes_told_before_it() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let mut other = Phone::ready(2, &mut server);
    other.scan("P-4");
    other.pass_online(&mut server, 7_000);
    phone.at_ms = other.at_ms;
    phone.pass_online(&mut server, 2_000); // The changes bring P-4, still active.
    server.change_ticket("P-4", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
    // The list arrives first. The changes then leave out each change that the device's list has.
    for _ in 0..80 {
        for sent in std::mem::take(&mut phone.requests) {
            match server.answer(&sent, phone.at_ms) {
                Some(_) if sent.path.contains("/changes") => phone.lose(&sent),
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
        phone.pass(500);
    }
    assert_eq!(phone.view().list.as_ref().unwrap().version, server.version);
    assert_eq!(phone.screen("P-4"), Screen::Refuse);
    phone.pass_online(&mut server, 31_000);
    assert_eq!(phone.screen("P-4"), Screen::Refuse, "also when the cursor has passed it");
}

#[test]
fn between_two_pages_of_changes_nothing_of_the_first_is_believed_yet() {
    const CHANGES: &str = "/api/scanning/events/event/changes";
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.scan("A-1");
    let sent = phone.take("/api/scanning/sync");
    let receipt = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &receipt);
    let known = phone.scans()[0].cursor;
    let page = |phone: &mut Phone, server: &Server, items: Vec<ChangedTicket>, more: bool| {
        phone.pass(2_000);
        let sent = phone.take(CHANGES);
        let answer = ChangesAnswer {
            items,
            event: None,
            gates: None,
            devices: Vec::new(),
            manifest_version: server.version,
            cursor: Cursor::at(server.epoch, if more { server.serial } else { server.serial + 1 }),
            more,
            resync: false,
            server_time: Timestamp::clamped(phone.at_ms),
        };
        phone.answer(&sent, &Reply::json(200, &answer));
    };
    // A-1 has changed once more meanwhile. It is on the second page, though its scan is older than the end of the first
    // page.
    page(&mut phone, &server, Vec::new(), true);
    phone.pass(61_000);
    assert_eq!(phone.screen("A-1"), Screen::AlreadyIn, "its own scan is in no page yet");
    assert_eq!(phone.scans().last().unwrap().cursor, known, "and it claims no rules of a view it does not have");
    let id = TicketId::new("t-A-1").unwrap();
    let changed = ChangedTicket {
        ticket_id: id.clone(),
        rules: super::server::ticket(1),
        barcode_hashes: vec![BarcodeHash::of("A-1")],
        prefix: Default::default(),
        scans: server.reduced(&id, false).effective,
    };
    page(&mut phone, &server, vec![changed], false);
    assert_eq!(phone.screen("A-1"), Screen::AlreadyIn);
    assert_eq!(phone.scans().last().unwrap().cursor, server.serial + 1);
}

#[test]
fn a_timer_that_fires_early_is_set_again() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, 31_000);
    phone.effects.clear();
    phone.input(Input::Tick);
    assert!(phone.effects.iter().any(|it| matches!(it, Effect::Wake { at_mono_ms } if *at_mono_ms > phone.mono_ms)));
}

/// A change of many tickets comes in several pages, and a page may end before the change's serial is complete. The
/// tickets on such a page are no older than a list that was made just before it.
#[test]
fn a_ticket_of_a_page_inside_a_change_is_known_before_the_list_that_holds_it() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let voided = |code: &str| ChangedTicket {
        ticket_id: TicketId::new(format!("t-{code}")).unwrap(),
        rules: TicketRules { status: TicketStatus::Voided, ..super::server::ticket(1) },
        barcode_hashes: vec![BarcodeHash::of(code)],
        prefix: Default::default(),
        scans: Vec::new(),
    };
    let version = server.version;
    let inside = Cursor { epoch: server.epoch, serial: version, after: Some(TicketId::new("t-A-1").unwrap()) };
    for (items, cursor) in [(vec![voided("A-1")], inside), (vec![voided("A-2")], Cursor::at(server.epoch, version + 1))]
    {
        phone.pass(2_000);
        let sent = phone.take("/api/scanning/events/event/changes");
        let answer = ChangesAnswer {
            items,
            event: None,
            gates: None,
            devices: Vec::new(),
            manifest_version: version + 1,
            more: cursor.after.is_some(),
            cursor,
            resync: false,
            server_time: Timestamp::clamped(phone.at_ms),
        };
        phone.answer(&sent, &Reply::json(200, &answer));
    }
    assert_eq!(phone.scans().len(), 0);
    assert_eq!([phone.screen("A-1"), phone.screen("A-2")], [Screen::Refuse, Screen::Refuse]);
    phone.start();
    assert_eq!([phone.screen("A-1"), phone.screen("A-2")], [Screen::Refuse, Screen::Refuse], "over a restart too");
}

/// The heartbeat's answer says that the organiser looks for the device. The screen shows it until an answer no longer
/// says so.
#[test]
fn an_organiser_who_looks_for_the_device_is_told_on_its_screen() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.view().rung_at, None);
    server.rung_at = Some(Timestamp::clamped(phone.at_ms));
    phone.pass_online(&mut server, HEARTBEAT_MS + 1_000);
    assert_eq!(phone.view().rung_at, server.rung_at);
    server.rung_at = None;
    phone.pass_online(&mut server, HEARTBEAT_MS + 1_000);
    assert_eq!(phone.view().rung_at, None);
}
