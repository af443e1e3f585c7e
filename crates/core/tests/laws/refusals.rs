//! Doors that stayed shut, codes read twice, claims, and causes about receipt.

use admit_core::event::ReEntry;
use admit_core::incident::IncidentKind;
use admit_core::reduce::ConflictReason;
use admit_core::rule::{Change, DeviceChange, Effective, TicketChange};
use admit_core::scan::{Basis, Outcome, ScanKind};
use admit_core::ticket::TicketStatus;

use crate::case::{Case, at, cause, device, entry, exit, kinds, revert, verdict};

fn one(mode: ReEntry, limit: u32) -> Case {
    Case::new(mode).ticket("t", limit)
}

#[test]
fn a_shut_door_for_already_scanned_is_duplicate_scan_low_and_never_queued() {
    let reduced = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(entry("b", "2", at("19:10"), "t").shut(Outcome::Duplicate))
        .t();
    assert_eq!(verdict(&reduced, "b", "2").conflict_reason, Some(ConflictReason::DuplicateScan));
    assert_eq!(kinds(&reduced), [IncidentKind::DuplicateScan]);
    assert!(!IncidentKind::DuplicateScan.queued());
    assert_eq!(reduced.state.persons(), 1);
}

#[test]
fn a_shut_duplicate_with_overlapping_uncertainty_is_duplicate_scan_else_refused_in_error() {
    // By their clocks the refused scan came first. The phone had seen the entry, so the clocks differ a little.
    let refused = |apart_ms: i64| {
        one(ReEntry::Never, 1)
            .scan(entry("b", "2", at("19:00").plus_ms(-apart_ms), "t").shut(Outcome::Duplicate).uncertainty(500))
            .scan(entry("a", "1", at("19:00"), "t").uncertainty(500))
            .t()
    };
    assert_eq!(kinds(&refused(1_000)), [IncidentKind::DuplicateScan]);
    assert_eq!(kinds(&refused(1_001)), [IncidentKind::RefusedInError]);
}

#[test]
fn shut_though_valid_is_refused_in_error() {
    for said in [Outcome::Invalid, Outcome::GateAccessDenied, Outcome::Expired, Outcome::Duplicate] {
        let reduced = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t").shut(said)).t();
        assert_eq!(kinds(&reduced), [IncidentKind::RefusedInError], "{said}");
    }
}

#[test]
fn a_door_kept_shut_after_green_is_a_persons_choice_and_rightly_refused_is_no_finding() {
    let turned_away = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t").shut(Outcome::Valid)).t();
    assert_eq!((kinds(&turned_away), turned_away.state.persons()), (vec![], 0));
    let voided = Case::new(ReEntry::Never)
        .ticket_with("t", 1, |rules| rules.status = TicketStatus::Voided)
        .scan(entry("a", "1", at("19:00"), "t").shut(Outcome::Invalid));
    assert_eq!(kinds(&voided.t()), []);
}

#[test]
fn a_revert_refuses_nobody_whatever_the_screen_said_over_it() {
    for said in [Outcome::Invalid, Outcome::Duplicate, Outcome::Expired] {
        let undone = revert("a", "r", at("19:01"), "t", ("a", "1")).shut(said);
        let reduced = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t")).scan(undone).t();
        assert_eq!((kinds(&reduced), reduced.state.persons()), (vec![], 0), "{said}");
    }
}

#[test]
fn who_was_let_in_against_the_rules_and_sent_back_out_was_not_admitted_in_error() {
    let against = entry("a", "1", at("19:00"), "t").gate("vip").overridden(Outcome::GateAccessDenied).count(2);
    let sent_back = |keep| revert("a", "r", at("19:01"), "t", ("a", "1")).keep(keep);
    let case = one(ReEntry::Never, 2).scan(against);
    assert_eq!(kinds(&case.clone().scan(sent_back(1)).t()), [IncidentKind::AdmittedInError], "one of them stayed");
    assert_eq!(kinds(&case.scan(sent_back(0)).t()), []);
}

#[test]
fn a_refused_exit_moves_nobody() {
    let reduced = one(ReEntry::AfterExit, 1)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(exit("c", "2", at("20:00"), "t").shut(Outcome::Valid))
        .t();
    assert_eq!(reduced.state.inside(), 1);
}

#[test]
fn s2_the_same_device_within_300_s_read_the_code_twice() {
    let again = |device: &str, seconds: i64| {
        one(ReEntry::Never, 1)
            .scan(entry("a", "1", at("19:00"), "t").s2())
            .scan(entry(device, "2", at("19:00").plus_ms(seconds * 1_000), "t").s2())
            .t()
    };
    let double_read = again("a", 299);
    let read = verdict(&double_read, "a", "2");
    assert_eq!((read.opened, read.over, read.conflict_reason), (false, 0, Some(ConflictReason::DuplicateScan)));
    assert_eq!(kinds(&double_read), [IncidentKind::DuplicateScan]);
    assert_eq!(kinds(&again("a", 300)), [IncidentKind::DoubleEntry]);
    assert_eq!(kinds(&again("b", 10)), [IncidentKind::DoubleEntry], "another device saw another person");
}

#[test]
fn s2_a_scan_with_a_place_free_counts_however_soon() {
    let party = one(ReEntry::Never, 2)
        .scan(entry("a", "1", at("19:00"), "t").s2())
        .scan(entry("a", "2", at("19:00:01"), "t").s2())
        .t();
    assert_eq!((party.state.within, kinds(&party)), (2, vec![]));
}

#[test]
fn at_a_gate_that_leads_out_scans_of_s1_and_s2_are_exits() {
    for form in [|s: crate::case::Scanned| s.v1(0), |s: crate::case::Scanned| s.s2()] {
        let reduced = one(ReEntry::AfterExit, 1)
            .scan(entry("a", "1", at("19:00"), "t").v1(0))
            .scan(form(entry("a", "2", at("20:00"), "t").gate("out")))
            .t();
        assert_eq!(verdict(&reduced, "a", "2").kind, ScanKind::Exit);
        assert_eq!(reduced.state.inside(), 0);
    }
    let ours = one(ReEntry::Never, 1).scan(entry("a", "1", at("20:00"), "t").gate("out")).t();
    assert_eq!(ours.verdicts[0].kind, ScanKind::Entry, "our form says itself what it is");
}

#[test]
fn a_claim_without_a_final_opened_iff_the_server_answered_valid() {
    let claim = |judged| one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t").claim(judged)).t();
    assert_eq!(claim(Some((2, Outcome::Valid))).state.within, 1);
    assert_eq!(claim(Some((2, Outcome::Duplicate))).state.within, 0);
    assert_eq!(claim(None).state.within, 0);
}

#[test]
fn a_final_says_what_happened_whatever_its_claim_was_answered_and_is_no_reuse() {
    let claim = entry("a", "1", at("19:00"), "t").claim(Some((2, Outcome::Valid)));
    let shut = one(ReEntry::Never, 1).scan(claim).scan(entry("a", "1", at("19:00"), "t").shut(Outcome::Duplicate)).t();
    assert_eq!(shut.state.within, 0);
    assert!(!kinds(&shut).contains(&IncidentKind::ScanIdReused));
}

#[test]
fn what_the_server_answered_is_not_held_against_the_devices_own_list() {
    let basis = Basis { within: 0, inside: 0, spent: 0, last_entry_at: None, status: Some(TicketStatus::Active) };
    let decided = entry("a", "1", at("19:00"), "t").knowing(2).with(|fact| fact.scan.basis = Some(basis));
    let mismatch = |case: Case| verdict(&case.t(), "a", "1").basis_mismatch;
    assert!(!mismatch(one(ReEntry::Never, 1).scan(decided.clone())));
    // By the phone's own list and basis the ticket is valid. A duplicate on its screen is a mismatch.
    let odd = decided.shut(Outcome::Duplicate);
    assert!(mismatch(one(ReEntry::Never, 1).scan(odd.clone())));
    let claim = odd.clone().claim(Some((2, Outcome::Duplicate)));
    assert!(!mismatch(one(ReEntry::Never, 1).scan(claim).scan(odd)));
}

#[test]
fn changes_bring_a_device_the_rules_of_tickets_but_not_of_gates() {
    let mut case = one(ReEntry::Never, 1);
    let zones = admit_core::rule::GateChange::Zones(vec!["vip".into()]);
    let change = admit_core::rule::Change::Gate(crate::case::gate("north"), zones);
    case.rule(admit_core::rule::Effective::At(at("18:30")), change);
    let basis = Basis { status: Some(TicketStatus::Active), ..Basis::default() };
    let scan = entry("a", "1", at("19:00"), "t").knowing(2).with(|fact| {
        fact.scan.cursor = 3;
        fact.scan.basis = Some(basis);
    });
    assert!(!verdict(&case.scan(scan).t(), "a", "1").basis_mismatch);
}

#[test]
fn a_scan_over_120_s_after_its_receipt_opens_future_time() {
    let future = |ms: i64| {
        let scan = entry("a", "1", at("19:00"), "t").v1(0);
        one(ReEntry::Never, 1).scan(scan.with(|fact| fact.received_at = at("19:00").plus_ms(-ms))).t()
    };
    assert_eq!(kinds(&future(120_000)), []);
    assert_eq!(kinds(&future(120_001)), [IncidentKind::FutureTime]);
}

#[test]
fn a_signed_time_later_than_receipt_by_more_than_claimed_possible_is_clock_suspect() {
    let suspect = |ms: i64| {
        let scan = entry("a", "1", at("19:00"), "t").uncertainty(700);
        one(ReEntry::Never, 1).scan(scan.with(|fact| fact.received_at = at("19:00").plus_ms(-ms))).t()
    };
    assert_eq!(kinds(&suspect(2_700)), []);
    assert_eq!(kinds(&suspect(2_701)), [IncidentKind::ClockSuspect]);
}

#[test]
fn scans_at_or_after_lost_since_wait_for_a_person_and_earlier_ones_count() {
    let case = one(ReEntry::Never, 2)
        .scan(entry("a", "1", at("18:59:59"), "t"))
        .scan(entry("a", "2", at("19:00"), "t"))
        .lost("a", Some(at("19:00")));
    let reduced = case.t();
    assert_eq!((reduced.state.within, kinds(&reduced)), (1, vec![IncidentKind::UnverifiedScan]));
    assert_eq!(case.clone().lost("a", None).t().state.within, 2, "it was never lost");
    let found = Change::Device(device("a"), DeviceChange::LostSince(None));
    let mut found_again = case.clone().scan(entry("a", "3", at("19:30"), "t"));
    found_again.rule(Effective::At(at("19:15")), found);
    let reduced = found_again.t();
    assert_eq!((reduced.state.within, kinds(&reduced)), (2, vec![IncidentKind::UnverifiedScan]), "found again");
    let accepted = case.review("a", "2", admit_core::review::Decision::Accept).t();
    assert_eq!((accepted.state.within, kinds(&accepted)), (2, vec![]));
}

#[test]
fn a_refusal_turns_into_an_error_when_the_rule_it_stood_on_is_taken_back_from_the_start() {
    let case = one(ReEntry::Never, 1)
        .change("t", at("18:30"), TicketChange::Status(TicketStatus::Voided))
        .scan(entry("a", "1", at("19:00"), "t").shut(Outcome::Invalid));
    assert_eq!(kinds(&case.t()), []);
    let mut case = case;
    let active = TicketChange::Status(TicketStatus::Active);
    let change = admit_core::rule::Change::Ticket(crate::case::ticket_id("t"), active);
    case.rule(admit_core::rule::Effective::Start, change);
    assert!(cause(&case.t(), IncidentKind::RefusedInError).is_some());
}
