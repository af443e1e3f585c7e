//! Guests added at the door. One signed scan is the guest's entry, and the server makes the ticket from it (decision
//! 036).

use admit_core::decide::Screen;
use admit_core::event::EventStatus;
use admit_core::ids::{GateId, TicketId};
use admit_core::incident::IncidentKind;
use admit_core::rule::{Change, EventChange, GateChange};
use admit_core::scan::{Method, Outcome, ScanKind, WalkIn};
use admit_core::wire::engine::{Effect, Input, WalkInsView};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::ScanV2;

use super::phone::Phone;
use super::server::Server;

fn venue(number: Option<u32>) -> Server {
    let mut server = Server::new();
    for gate in ["north", "both"] {
        server.first(Change::Gate(GateId::new(gate).unwrap(), GateChange::WalkIns(true)));
    }
    server.first(Change::Event(EventChange::WalkIns(number)));
    server
}
fn add(phone: &mut Phone, name: &str, party: u32, pin: &str) {
    let (name, zone, pin) = (name.to_owned(), "general".to_owned(), pin.to_owned());
    phone.input(Input::WalkIn { name, zone, party, pin });
}
fn view(phone: &Phone) -> WalkInsView {
    phone.view().walk_ins.clone().expect("this gate adds guests")
}
/// The ticket id of the guest who was added last.
fn last_ticket(phone: &Phone) -> TicketId {
    phone.scans().last().and_then(|scan| scan.ticket_id.clone()).expect("a ticket")
}

#[test]
fn a_guest_without_a_ticket_goes_in_offline_by_one_scan_that_makes_their_ticket() {
    let mut server = venue(None);
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    add(&mut phone, "Gül Güneş", 3, "");
    let shown = phone.last_shown().clone();
    assert_eq!((shown.screen, shown.opened, shown.count), (Screen::Admit, true, 3));
    assert_eq!((shown.name.as_deref(), shown.zone.as_deref()), (Some("Gül Güneş"), Some("general")));
    let scan = phone.scans().pop().unwrap();
    assert_eq!(
        (scan.kind, scan.method, scan.outcome, scan.barcode_hash),
        (ScanKind::Entry, Method::Manual, Outcome::Valid, None)
    );
    let walk_in = scan.walk_in.clone().unwrap();
    assert_eq!((walk_in.zone.as_str(), walk_in.party), ("general", 3));
    assert_eq!(scan.ticket_id, WalkIn::ticket_id(&scan.event_id, &scan.device_id, &scan.scan_id));
    // The signed bytes hold no name. The upload carries the name beside them, and it matches what was signed.
    let signed = serde_json::to_string(&scan).unwrap();
    assert!(!signed.contains("Gül"), "{signed}");
    let Some(Entry::Scan(row)) = phone.entries().pop() else { panic!("a scan's row") };
    let named = row.named.unwrap();
    assert_eq!(WalkIn::digest_of(&named.salt, &named.name), walk_in.name_digest);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
    let reduced = server.reduced(&last_ticket(&phone), false);
    assert_eq!((reduced.state.within, reduced.state.over, reduced.walk_in_persons()), (3, 0, 3));
    assert!(reduced.causes.is_empty(), "{:?}", reduced.causes);
}

#[test]
fn the_name_comes_with_the_scan_and_nothing_else_about_it() {
    let mut server = venue(None);
    let mut phone = Phone::ready(1, &mut server);
    add(&mut phone, "Ada", 1, "");
    let sent = loop {
        phone.pass(500);
        if phone.asks("/api/scanning/sync") {
            break phone.take("/api/scanning/sync");
        }
        phone.settle(&mut server);
    };
    let body: serde_json::Value = serde_json::from_str(&sent.body.unwrap()).unwrap();
    let item = body["scans"][0].to_string();
    let (scan, evidence) = ScanV2::read_with_evidence(&item).unwrap();
    assert_eq!(evidence.named.unwrap().name, "Ada");
    assert!(scan.walk_in.is_some());
    // The server ignores a name that does not match what was signed, and the evidence it keeps holds no name.
    let other = item.replace("\"Ada\"", "\"Eve\"").replacen('{', "{\"later\":1,", 1);
    let (_, evidence) = ScanV2::read_with_evidence(&other).unwrap();
    assert_eq!(evidence.named, None);
    let kept = evidence.sent.unwrap();
    assert!(kept.contains("later") && !kept.contains("Eve") && !kept.contains("salt"), "{kept}");
}

#[test]
fn the_guest_can_be_undone_and_come_again_before_the_server_heard_of_them() {
    let mut server = venue(None);
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    add(&mut phone, "Ada", 2, "");
    let ticket_id = last_ticket(&phone);
    phone.input(Input::Undo { scan_id: None, keep: 1 });
    assert_eq!(view(&phone).added, 1, "the ticket stays; one of its persons is in");
    phone.start();
    assert_eq!(view(&phone).added, 1);
    phone.pass_online(&mut server, 7_000);
    let state = server.reduced(&ticket_id, false).state;
    assert_eq!((state.within, state.over), (1, 0));
}

#[test]
fn beyond_the_number_and_after_the_end_the_staff_pin_is_needed_and_the_server_tells_it() {
    let mut server = venue(Some(2));
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, 40_000);
    assert_eq!((view(&phone).added, view(&phone).number), (0, Some(2)));
    add(&mut phone, "Ada", 2, "");
    assert_eq!(view(&phone).added, 2);
    let before = phone.scans().len();
    add(&mut phone, "Ben", 1, "");
    assert_eq!((phone.refused(), phone.scans().len()), (Some("needs_pin"), before));
    add(&mut phone, "Ben", 1, "0000");
    assert!(phone.effects.iter().any(|effect| matches!(effect, Effect::PinRefused { .. })));
    assert_eq!(phone.scans().len(), before);
    add(&mut phone, "Ben", 1, "4711");
    let beyond = phone.scans().pop().unwrap();
    assert!(beyond.override_.is_some() && beyond.opened);
    phone.pass_online(&mut server, 40_000);
    assert_eq!(view(&phone).added, 3, "as the server counts, and none twice");
    let causes = server.reduced(&beyond.ticket_id.unwrap(), false).causes;
    assert_eq!(causes.iter().map(|cause| cause.kind).collect::<Vec<_>>(), [IncidentKind::WalkInsOver]);

    server.first(Change::Event(EventChange::WalkIns(None)));
    server.first(Change::Event(EventChange::Status(EventStatus::Ended)));
    phone.pass_online(&mut server, 40_000);
    add(&mut phone, "Cem", 1, "");
    assert_eq!(phone.refused(), Some("needs_pin"));
    add(&mut phone, "Cem", 1, "4711");
    let late = phone.scans().pop().unwrap();
    assert_eq!((late.outcome, late.opened), (Outcome::Expired, true));
    phone.pass_online(&mut server, 7_000);
    let causes = server.reduced(&late.ticket_id.unwrap(), false).causes;
    assert_eq!(causes.iter().map(|cause| cause.kind).collect::<Vec<_>>(), [IncidentKind::AdmittedAfterEnd]);
}

#[test]
fn what_another_phone_added_counts_towards_the_number() {
    let mut server = venue(Some(3));
    let mut one = Phone::ready(1, &mut server);
    let mut other = Phone::ready(2, &mut server);
    add(&mut one, "Ada", 2, "");
    one.pass_online(&mut server, 7_000);
    other.pass_online(&mut server, 40_000);
    assert_eq!(view(&other).added, 2);
    add(&mut other, "Ben", 2, "");
    assert_eq!(other.refused(), Some("needs_pin"));
}

#[test]
fn a_gate_that_adds_nobody_and_a_way_out_offer_nothing() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.view().walk_ins, None);
    add(&mut phone, "Ada", 1, "");
    assert_eq!(phone.refused(), Some("no_walk_ins"));
    let mut server = venue(None);
    let mut phone = Phone::ready(1, &mut server);
    for (name, zone, party, code) in
        [("  ", "general", 1, "bad_name"), ("Ada", "backstage", 1, "bad_zone"), ("Ada", "general", 0, "bad_count")]
    {
        phone.input(Input::WalkIn { name: name.into(), zone: zone.into(), party, pin: String::new() });
        assert_eq!(phone.refused(), Some(code));
    }
    assert!(phone.scans().is_empty());
}

#[test]
fn a_draft_practises_with_them_and_counts_nobody() {
    let mut server = venue(Some(1));
    server.first(Change::Event(EventChange::Status(EventStatus::Draft)));
    let mut phone = Phone::ready(1, &mut server);
    add(&mut phone, "Ada", 1, "");
    assert!(phone.last_shown().practice);
    assert_eq!(view(&phone).added, 0);
    phone.pass_online(&mut server, 7_000);
    let reduced = server.reduced(&last_ticket(&phone), false);
    assert_eq!((reduced.state.within, reduced.counted_walk_in()), (0, None));
}
