//! Parties: staff are asked first and count then, in parts and at several gates (spec D8, §5).

use admit_core::decide::Screen;
use admit_core::ids::{DeviceId, ScanId};
use admit_core::reduce::EffectiveScan;
use admit_core::scan::{Outcome, ScanKind, Stage};
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Effect, Input};
use admit_core::wire::scanning::{ChangedTicket, ChangesAnswer, Cursor};

use super::phone::{EVENING, Phone};
use super::server::{Reply, Server, ticket};

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn count(phone: &mut Phone, scan_id: &ScanId, count: u32) {
    phone.input(Input::Count { scan_id: scan_id.clone(), count });
}

#[test]
fn a_party_is_asked_first_and_its_claim_is_durable_before_the_question() {
    let (mut phone, mut server) = ready();
    let asked = phone.scan("P-4");
    assert_eq!((asked.screen, asked.opened, asked.may_admit, asked.entry_limit), (Screen::AdmitParty, false, 4, 4));
    assert_eq!(phone.scans().pop().unwrap().stage, Stage::Claim);
    let id = asked.scan_id.unwrap();
    count(&mut phone, &id, 3);
    let shown = phone.last_shown().clone();
    assert_eq!((shown.screen, shown.opened, shown.count), (Screen::Admit, true, 3));
    let scans = phone.scans();
    let (claim, last) = (&scans[0], &scans[1]);
    assert_eq!((last.stage, &last.scan_id, last.seq, claim.seq), (Stage::Final, &claim.scan_id, Some(2), Some(1)));
    phone.pass_online(&mut server, 7_000);
    let state = server.reduced_code("P-4").state;
    assert_eq!((state.within, state.over), (3, 0));
    assert!(server.reduced_code("P-4").causes.is_empty(), "a claim and its final are one scan");
}

#[test]
fn a_partly_used_party_is_asked_again_at_once() {
    let (mut phone, _) = ready();
    let id = phone.id_of("P-4");
    count(&mut phone, &id, 3);
    let again = phone.scan("P-4");
    assert_eq!((again.screen, again.may_admit, again.already_in), (Screen::Admit, 1, 3), "the last one needs no count");
    assert_eq!(phone.screen("P-4"), Screen::SameTicket);
}

#[test]
fn nobody_of_a_party_leaves_the_door_shut() {
    let (mut phone, _) = ready();
    let id = phone.id_of("P-4");
    count(&mut phone, &id, 0);
    assert!(!phone.last_shown().opened);
    let last = phone.scans().pop().unwrap();
    assert_eq!((last.stage, last.opened, last.outcome), (Stage::Final, false, Outcome::Valid));
    assert_eq!(phone.scan("P-4").may_admit, 4);
}

#[test]
fn more_than_may_go_in_is_refused_and_nothing_is_recorded() {
    let (mut phone, _) = ready();
    let id = phone.id_of("P-4");
    count(&mut phone, &id, 5);
    assert_eq!(phone.refused(), Some("bad_count"));
    assert_eq!(phone.scans().len(), 1);
    count(&mut phone, &id, 4);
    count(&mut phone, &id, 1);
    assert_eq!(phone.refused(), Some("unknown_scan"), "a party is counted once");
    assert_eq!(phone.scans().len(), 2);
}

#[test]
fn a_party_left_unanswered_counts_nothing_and_stops_nobody() {
    let (mut phone, mut server) = ready();
    phone.scan("P-4");
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    assert_eq!(phone.scan("P-4").may_admit, 4, "a claim without a final is shut");
    phone.pass_online(&mut server, 13_000);
    assert_eq!(server.reduced_code("P-4").state.within, 0);
}

#[test]
fn what_another_gate_let_in_meanwhile_is_known_when_the_party_is_counted() {
    let mut server = Server::new();
    let (mut north, mut south) = (Phone::ready(1, &mut server), Phone::ready(2, &mut server));
    let asked = north.id_of("P-4");
    let other = south.id_of("P-4");
    count(&mut south, &other, 4);
    south.pass_online(&mut server, 7_000);
    north.pass_online(&mut server, 1_000);
    count(&mut north, &asked, 2);
    let shown = north.last_shown();
    assert_eq!((shown.screen, shown.opened), (Screen::AlreadyIn, false));
    assert_eq!(north.scans().pop().unwrap().outcome, Outcome::Duplicate);
}

/// Before staff count the party, the server may list the claim itself, as one person who is in.
#[test]
fn a_party_is_counted_without_its_own_claim_whoever_tells_of_it() {
    for (own, others, may) in [(false, 0, 4), (true, 0, 4), (false, 2, 2), (true, 2, 2)] {
        let (mut phone, server) = ready();
        let id = phone.id_of("P-4");
        let claim = phone.scans().pop().unwrap();
        let told = |scan_id: ScanId, device_id: DeviceId, count: u32, claim: bool| EffectiveScan {
            device_id,
            scan_id,
            at: Timestamp::clamped(EVENING),
            uncertainty_ms: 10,
            implausible: false,
            kind: ScanKind::Entry,
            count,
            opened: true,
            gate_id: server.gate_id.clone(),
            s2: false,
            claim,
        };
        let mut scans = Vec::new();
        if others > 0 {
            scans.push(told(ScanId::new("theirs").unwrap(), DeviceId::new("other").unwrap(), others, false));
        }
        if own {
            scans.push(told(id.clone(), claim.device_id, 1, true));
        }
        phone.pass(1_000);
        let sent = phone.take("/api/scanning/events/event/changes");
        let changed = ChangedTicket {
            ticket_id: claim.ticket_id.unwrap(),
            rules: ticket(4),
            barcode_hashes: claim.barcode_hash.into_iter().collect(),
            prefix: Default::default(),
            scans,
        };
        let answer = ChangesAnswer {
            items: vec![changed],
            event: None,
            gates: None,
            devices: Vec::new(),
            manifest_version: server.version,
            cursor: Cursor::at(server.epoch, server.serial + 1),
            more: false,
            resync: false,
            server_time: Timestamp::START,
        };
        phone.answer(&sent, &Reply::json(200, &answer));
        count(&mut phone, &id, may + 1);
        assert_eq!(phone.refused(), Some("bad_count"), "own {own}, others {others}");
        count(&mut phone, &id, may);
        assert_eq!((phone.last_shown().opened, phone.last_shown().count), (true, may), "own {own}, others {others}");
    }
}

#[test]
fn after_a_restart_the_question_stands_again() {
    let (mut phone, _) = ready();
    let id = phone.id_of("P-4");
    phone.start();
    let shown = phone.last_shown().clone();
    assert_eq!((shown.screen, shown.may_admit, shown.scan_id), (Screen::AdmitParty, 4, Some(id.clone())));
    count(&mut phone, &id, 2);
    assert_eq!(phone.last_shown().count, 2);
}

#[test]
fn an_undo_can_keep_some_of_a_party() {
    let (mut phone, mut server) = ready();
    let id = phone.id_of("P-4");
    count(&mut phone, &id, 4);
    phone.input(Input::Undo { scan_id: Some(id.clone()), keep: 4 });
    assert_eq!(phone.refused(), Some("bad_count"));
    phone.input(Input::Undo { scan_id: Some(id), keep: 1 });
    assert_eq!(phone.view().own_admitted, 1);
    assert!(phone.effects.iter().any(|it| matches!(it, Effect::Undone { count: 3, .. })), "three were taken back");
    assert_eq!(phone.scan("P-4").may_admit, 3);
    phone.pass_online(&mut server, 13_000);
    assert_eq!(server.reduced_code("P-4").state.within, 1);
}
