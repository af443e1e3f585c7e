//! Before doors open and after the event: practice, and an end that staff with the PIN may set aside (decision 034).

use admit_core::barcode::{BarcodeHash, SAMPLE_CODE};
use admit_core::decide::Screen;
use admit_core::event::{Days, EventStatus, ReEntry};
use admit_core::rule::EventChange;
use admit_core::scan::{Method, Outcome, ScanKind};
use admit_core::time::Timestamp;
use admit_core::wire::engine::Input;

use super::phone::{EVENING, Phone};
use super::server::Server;

fn with_status(status: EventStatus) -> (Phone, Server) {
    let mut server = Server::new();
    server.change_event(EventChange::Status(status), EVENING - 1_000);
    (Phone::ready(1, &mut server), server)
}

#[test]
fn a_drafts_scans_are_practice_and_the_screen_says_what_the_night_will() {
    let (mut phone, mut server) = with_status(EventStatus::Draft);
    assert_eq!(phone.view().event_status, Some(EventStatus::Draft));
    let first = phone.scan("A-1");
    assert_eq!((first.screen, first.practice), (Screen::Admit, true));
    phone.pass(61_000);
    assert_eq!(phone.scan("A-1").screen, Screen::AlreadyIn, "it folds among itself");
    assert!(phone.scans().iter().all(|scan| scan.practice), "signed as what it is");
    assert_eq!(phone.view().own_admitted, 0, "and counts nowhere");
    assert!(phone.view().history.iter().all(|row| row.practice));
    // The phone still remembers its practice scan once the server has it. The server tells no device about practice
    // scans.
    phone.settle(&mut server);
    phone.pass_online(&mut server, 61_000);
    assert_eq!(phone.view().unsent, 0);
    assert_eq!(phone.scan("A-1").screen, Screen::AlreadyIn);
    assert_eq!(server.reduced_code("A-1").state.persons(), 0);
}

#[test]
fn nobody_asks_the_server_about_practice() {
    let (mut phone, mut server) = with_status(EventStatus::Draft);
    phone.pass_online(&mut server, 5_000);
    phone.scan("A-1");
    assert!(!phone.asks("/api/scans"));
}

#[test]
fn when_the_doors_open_all_practice_is_gone() {
    let (mut phone, mut server) = with_status(EventStatus::Draft);
    phone.scan("A-1");
    phone.settle(&mut server);
    server.change_event(EventChange::Status(EventStatus::Live), EVENING + 5_000);
    phone.pass_online(&mut server, 120_000);
    phone.settle(&mut server);
    assert_eq!(phone.view().event_status, Some(EventStatus::Live));
    let real = phone.scan("A-1");
    assert_eq!((real.screen, real.practice, real.already_in), (Screen::Admit, false, 0));
    assert_eq!(phone.view().own_admitted, 1);
    phone.settle(&mut server);
    assert_eq!(server.reduced_code("A-1").state.persons(), 1);
}

/// A live scan within a minute of a practice scan with the same code is not shown as "same ticket again". Undo does not
/// reach back to the practice scan.
#[test]
fn practice_of_a_moment_ago_does_not_stand_in_the_way() {
    let (mut phone, mut server) = with_status(EventStatus::Draft);
    phone.settle(&mut server);
    server.change_event(EventChange::Status(EventStatus::Live), EVENING);
    phone.scan("A-1");
    phone.input(Input::SyncNow);
    phone.settle(&mut server);
    phone.pass_online(&mut server, 30_000);
    phone.settle(&mut server);
    assert_eq!(phone.view().event_status, Some(EventStatus::Live));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(phone.refused(), Some("nothing_to_undo"));
    assert_eq!(phone.scan("A-1").screen, Screen::Admit);
}

#[test]
fn practice_is_undone_as_practice() {
    let (mut phone, mut server) = with_status(EventStatus::Draft);
    phone.scan("A-1");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.settle(&mut server);
    let undo = phone.scans().into_iter().find(|scan| scan.kind == ScanKind::Revert).unwrap();
    assert!(undo.practice);
    assert_eq!(phone.screen("A-1"), Screen::Admit);
}

#[test]
fn an_event_that_ended_admits_nobody_without_the_pin() {
    let (mut phone, mut server) = with_status(EventStatus::Ended);
    let shown = phone.scan("A-1");
    assert_eq!((shown.screen, shown.outcome, shown.can_override), (Screen::Ended, Outcome::Expired, true));
    assert_eq!(shown.reason.as_deref(), Some("event_ended"));
    let (by, reason, pin) = ("Ada".to_owned(), "crew".to_owned(), "4711".to_owned());
    phone.input(Input::Override { scan_id: shown.scan_id.unwrap(), pin, by, reason, count: 1 });
    let set_aside = phone.last_shown().clone();
    assert_eq!((set_aside.screen, set_aside.opened, set_aside.overridden), (Screen::Admit, true, true));
    phone.pass_online(&mut server, 30_000);
    assert_eq!(phone.view().unsent, 0);
    let kinds: Vec<_> = server.reduced_code("A-1").causes.iter().map(|cause| cause.kind.as_str()).collect();
    assert_eq!(kinds, ["admitted_after_end"]);
}

#[test]
fn daily_is_decided_on_the_phone_without_a_network() {
    let mut server = Server::new();
    let midnight = Timestamp::clamped(EVENING + 600_000);
    server.change_event(EventChange::Days(Days::new(vec![midnight])), EVENING - 1_000);
    server.re_entry(ReEntry::Daily);
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    phone.pass_offline(120_000);
    let again = phone.scan("A-1");
    assert_eq!((again.screen, again.reason.as_deref()), (Screen::AlreadyIn, Some("already_today")));
    phone.pass_offline(600_000);
    assert_eq!(phone.screen("A-1"), Screen::Admit, "another day");
}

#[test]
fn the_sample_of_the_check_before_doors_shows_a_green_and_writes_nothing() {
    for status in [EventStatus::Draft, EventStatus::Live] {
        let (mut phone, mut server) = with_status(status);
        let rows = phone.rows.len();
        let shown = phone.scan(SAMPLE_CODE);
        assert_eq!((shown.screen, shown.opened, shown.practice, shown.scan_id), (Screen::Admit, true, true, None));
        assert!(!shown.can_undo && !shown.can_override);
        phone.pass_online(&mut server, 7_000);
        assert_eq!(phone.scans(), [], "{status:?}");
        assert!(phone.rows[rows..].iter().all(|row| !row.text.contains("\"t\":\"scan\"")));
        assert_eq!((phone.view().own_admitted, phone.view().unsent), (0, 0));
        assert_eq!(server.stored.len(), 0);
    }
}

/// A code that is in no list says nothing about the reader's keyboard layout. The sample code does, even before the
/// first ticket.
#[test]
fn the_sample_teaches_which_keyboard_layout_a_hardware_reader_is_set_to() {
    let (mut phone, _) = with_status(EventStatus::Live);
    let read = |phone: &mut Phone, text: &str, other: &str| {
        phone.input(Input::Code { text: text.into(), other: Some(other.into()), method: Method::Qr });
        phone.scans().last().and_then(|scan| scan.barcode_hash)
    };
    assert_eq!(read(&mut phone, "UNKNOWN-Y", "UNKNOWN-Z"), Some(BarcodeHash::of("UNKNOWN-Y")));
    read(&mut phone, "admit\u{df}sample\u{df}ticket", SAMPLE_CODE);
    assert_eq!(phone.last_shown().screen, Screen::Admit);
    assert_eq!(read(&mut phone, "ANOTHER-Y", "ANOTHER-Z"), Some(BarcodeHash::of("ANOTHER-Z")));
    read(&mut phone, SAMPLE_CODE, "admit'sample'ticket");
    assert_eq!(read(&mut phone, "THIRD-Y", "THIRD-Z"), Some(BarcodeHash::of("THIRD-Y")));
}
