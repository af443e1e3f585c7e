//! Staff with the PIN set a refusal aside (spec D18).

use admit_core::decide::Screen;
use admit_core::event::ReEntry;
use admit_core::ids::{ScanId, TicketId};
use admit_core::rule::{EventChange, TicketChange};
use admit_core::scan::Outcome;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::wire::engine::{Effect, Input};

use super::phone::{EVENING, Phone};
use super::server::{Server, ticket};

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn set_aside(phone: &mut Phone, scan_id: &ScanId, pin: &str) {
    phone.input(Input::Override {
        scan_id: scan_id.clone(),
        pin: pin.into(),
        by: "Ana".into(),
        reason: "on the promoter's list".into(),
        count: 1,
    });
}
fn pin_refused(phone: &Phone) -> Option<(u32, Option<i64>)> {
    phone.effects.iter().rev().find_map(|it| match it {
        Effect::PinRefused { tries_left, paused_until_mono_ms } => Some((*tries_left, *paused_until_mono_ms)),
        _ => None,
    })
}

#[test]
fn an_override_is_another_scan_that_opens_and_says_what_decide_said() {
    let (mut phone, mut server) = ready();
    for (code, outcome) in
        [("V-1", Outcome::Invalid), ("sold just now", Outcome::Invalid), ("VIP-1", Outcome::GateAccessDenied)]
    {
        let refused = phone.id_of(code);
        set_aside(&mut phone, &refused, "4711");
        let shown = phone.last_shown().clone();
        assert_eq!((shown.screen, shown.opened, shown.overridden, shown.outcome), (Screen::Admit, true, true, outcome));
        let scan = phone.scans().pop().unwrap();
        assert_ne!(scan.scan_id, refused);
        assert_eq!((scan.opened, scan.outcome), (true, outcome));
        let by = scan.override_.unwrap();
        assert_eq!((by.by.as_str(), by.reason.as_str()), ("Ana", "on the promoter's list"));
        assert_eq!(phone.screen(code), Screen::SameTicket, "who was just let in is not refused again");
    }
    assert_eq!(phone.view().own_admitted, 3);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.reduced_code("V-1").state.within, 1, "it counts");
}

#[test]
fn a_refusal_is_set_aside_once_unless_that_is_undone() {
    let (mut phone, _) = ready();
    let refused = phone.id_of("V-1");
    phone.flushes = false;
    // Staff tap twice while the storage is slow.
    set_aside(&mut phone, &refused, "4711");
    set_aside(&mut phone, &refused, "4711");
    phone.flush_one();
    assert_eq!(phone.refused(), Some("unknown_scan"));
    phone.flushes = true;
    assert_eq!((phone.scans().len(), phone.view().own_admitted), (2, 1));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    set_aside(&mut phone, &refused, "4711");
    assert_eq!(phone.view().own_admitted, 1);
}

#[test]
fn what_was_admitted_or_never_scanned_cannot_be_set_aside() {
    let (mut phone, _) = ready();
    let admitted = phone.id_of("A-1");
    set_aside(&mut phone, &admitted, "4711");
    assert_eq!(phone.refused(), Some("unknown_scan"));
    set_aside(&mut phone, &ScanId::new("nobody").unwrap(), "4711");
    assert_eq!(phone.scans().len(), 1);
}

#[test]
fn neither_an_override_nor_a_party_of_nobody_is_a_refusal() {
    let (mut phone, _) = ready();
    let refused = phone.id_of("V-1");
    set_aside(&mut phone, &refused, "4711");
    let opened = phone.last_shown().clone();
    assert!(!opened.can_override);
    set_aside(&mut phone, &opened.scan_id.unwrap(), "4711");
    assert_eq!(phone.refused(), Some("unknown_scan"));
    phone.effects.clear();
    let party = phone.id_of("P-4");
    phone.input(Input::Count { scan_id: party.clone(), count: 0 });
    assert!(!phone.last_shown().can_override);
    set_aside(&mut phone, &party, "4711");
    assert_eq!((phone.refused(), phone.view().own_admitted), (Some("unknown_scan"), 1));
}

#[test]
fn an_override_stands_for_the_code_in_every_spelling_of_it_until_it_is_undone() {
    let (mut phone, mut server) = ready();
    server.add_ticket("3KQR7F924M1X", TicketRules { status: TicketStatus::Voided, ..ticket(1) });
    phone.pass_online(&mut server, 2_000);
    let refused = ["3KQR-7F92-4M1X", "3KQR7F924M1X"].map(|read| phone.id_of(read));
    set_aside(&mut phone, &refused[0], "4711");
    set_aside(&mut phone, &refused[1], "4711");
    assert_eq!((phone.refused(), phone.view().own_admitted), (Some("unknown_scan"), 1));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(phone.screen("3KQR7F924M1X"), Screen::Refuse, "who was sent back out is not in");
    set_aside(&mut phone, &refused[1], "4711");
    assert_eq!(phone.view().own_admitted, 1);
}

/// Neither guest's code was read, so only the ticket tells the two refusals apart.
#[test]
fn an_override_of_one_guest_picked_by_hand_leaves_anothers_refusal_to_be_set_aside() {
    let mut server = Server::new();
    server.allow_names("north", true);
    for code in ["A-1", "A-2"] {
        server.change_ticket(code, TicketChange::Status(TicketStatus::Voided), EVENING - 10_000);
        server.name(code, code, None);
    }
    let mut phone = Phone::ready(1, &mut server);
    let pick = |phone: &mut Phone, code: &str| {
        phone.input(Input::Guest { ticket_id: TicketId::new(format!("t-{code}")).unwrap() });
        let shown = phone.last_shown();
        assert_eq!((shown.screen, shown.can_override), (Screen::Refuse, true), "{code}");
        shown.scan_id.clone().unwrap()
    };
    let refused = ["A-1", "A-2"].map(|code| pick(&mut phone, code));
    set_aside(&mut phone, &refused[0], "4711");
    set_aside(&mut phone, &refused[0], "4711");
    assert_eq!((phone.refused(), phone.view().own_admitted), (Some("unknown_scan"), 1));
    set_aside(&mut phone, &refused[1], "4711");
    assert_eq!(phone.view().own_admitted, 2);
}

#[test]
fn without_a_pin_there_is_no_override() {
    let mut server = Server::new();
    server.change_event(EventChange::StaffPin(None), EVENING - 10_000);
    let mut phone = Phone::ready(1, &mut server);
    assert!(!phone.view().has_pin);
    let shown = phone.scan("V-1");
    assert!(!shown.can_override);
    set_aside(&mut phone, &shown.scan_id.unwrap(), "4711");
    assert_eq!(phone.refused(), Some("no_pin"));
}

#[test]
fn five_wrong_pins_pause_for_thirty_seconds_and_a_restart_does_not_shorten_it() {
    let (mut phone, _) = ready();
    let refused = phone.id_of("V-1");
    for left in [4, 3, 2, 1] {
        set_aside(&mut phone, &refused, "0000");
        assert_eq!(pin_refused(&phone), Some((left, None)));
    }
    set_aside(&mut phone, &refused, "0000");
    assert_eq!(pin_refused(&phone), Some((0, Some(phone.mono_ms + 30_000))));
    phone.pass(10_000);
    set_aside(&mut phone, &refused, "4711");
    assert_eq!(phone.scans().len(), 1, "even the right one is not taken in the pause");
    phone.start();
    set_aside(&mut phone, &refused, "4711");
    assert_eq!(phone.scans().len(), 1);
    let (_, until) = pin_refused(&phone).unwrap();
    assert!(until.unwrap() - phone.mono_ms <= 20_100, "and does not lengthen it");
    phone.pass(20_100);
    set_aside(&mut phone, &refused, "0000");
    assert_eq!(pin_refused(&phone), Some((4, None)), "after the pause five tries again");
    set_aside(&mut phone, &refused, "4711");
    assert!(phone.last_shown().overridden);
    set_aside(&mut phone, &refused, "0000");
    assert_eq!(pin_refused(&phone), Some((4, None)), "a right one forgives");
}

#[test]
fn a_wrong_pin_is_counted_before_it_is_told() {
    let (mut phone, _) = ready();
    let refused = phone.id_of("V-1");
    phone.flushes = false;
    set_aside(&mut phone, &refused, "0000");
    assert_eq!(pin_refused(&phone), None, "who kills the app has used the try");
    phone.flush_one();
    assert_eq!(pin_refused(&phone), Some((4, None)));
}

#[test]
fn a_duplicate_set_aside_is_a_double_entry_for_the_server_to_report() {
    let (mut phone, mut server) = ready();
    phone.scan("A-1");
    phone.pass(61_000);
    let refused = phone.id_of("A-1");
    set_aside(&mut phone, &refused, "4711");
    phone.pass_online(&mut server, 13_000);
    let state = server.reduced_code("A-1").state;
    assert_eq!((state.within, state.over), (1, 1));
}

#[test]
fn after_the_gap_of_re_entry_a_ticket_is_good_again() {
    let mut server = Server::new();
    server.re_entry(ReEntry::AfterGap);
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    phone.pass(120_000);
    assert_eq!(phone.scan("A-1").reason.as_deref(), Some("too_soon"));
    phone.pass(181_000);
    assert_eq!(phone.screen("A-1"), Screen::Admit);
}

/// The phone cannot tell which of its two clocks was wrong. Somebody went in with the ticket a moment ago, so the phone
/// refuses it as too soon.
#[test]
fn a_clock_that_is_set_right_finds_no_gap_behind_an_entry_it_wrote_ahead_of_itself() {
    let mut server = Server::new();
    server.re_entry(ReEntry::AfterGap);
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    // The wall clock is set ahead. A phone cannot tell that from sleep.
    phone.wall_off_ms += 240_000;
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    phone.wall_off_ms -= 240_000;
    phone.pass_online(&mut server, 90_000);
    phone.offline();
    assert_eq!(phone.screen("A-2"), Screen::Admit);
    let times: Vec<i64> = phone.scans().iter().map(|scan| scan.at.ms()).collect();
    assert!(times[1] < times[0], "its time was set right: {times:?}");
    assert_eq!(phone.scan("A-1").reason.as_deref(), Some("too_soon"));
}
