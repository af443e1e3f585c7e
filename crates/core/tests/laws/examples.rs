//! Entries, exits, reverts and rules over time. Each test is one example of a sentence of the specification.

use admit_core::decide::Reason;
use admit_core::event::ReEntry;
use admit_core::incident::{IncidentKind, Role, Severity};
use admit_core::reduce::{ConflictReason, Reduced};
use admit_core::review::Decision;
use admit_core::rule::{Change, Effective, EventChange, GateChange, TicketChange, When};
use admit_core::scan::{Outcome, persons_let_in};
use admit_core::ticket::TicketStatus;

use crate::case::{Case, Scanned, at, cause, entry, exit, kinds, revert, ticket, unknown, verdict};

fn one(mode: ReEntry, limit: u32) -> Case {
    Case::new(mode).ticket("t", limit)
}

#[test]
fn a_late_upload_that_turns_out_earliest_takes_the_entry_and_both_carry_conflict() {
    let before = one(ReEntry::Never, 1).scan(entry("b", "2", at("19:01"), "t"));
    assert_eq!(kinds(&before.t()), []);
    let after = before.scan(entry("a", "1", at("19:00"), "t")).t();
    let (first, second) = (verdict(&after, "a", "1"), verdict(&after, "b", "2"));
    assert_eq!((first.within, first.over, first.conflict, first.conflict_reason), (1, 0, true, None));
    let double = Some(ConflictReason::DoubleEntry);
    assert_eq!((second.within, second.over, second.conflict, second.conflict_reason), (0, 1, true, double));
    assert_eq!((second.outcome, second.reason), (Outcome::Duplicate, Some(Reason::AlreadyScanned)));
    let cause = cause(&after, IncidentKind::DoubleEntry).unwrap();
    assert_eq!(cause.kind.severity(), Severity::Critical);
    let roles: Vec<_> =
        cause.scans.iter().map(|scan| (scan.role, scan.scan_id.as_str(), scan.within, scan.over)).collect();
    assert_eq!(roles, [(Role::Entry, "1", 1, 0), (Role::DoubleEntry, "2", 0, 1)]);
    assert!(!cause.order_uncertain, "a minute apart, half a second unsure");
}

#[test]
fn three_and_three_of_four_the_second_has_within_one_over_two() {
    let state = one(ReEntry::Never, 4)
        .scan(entry("a", "1", at("19:00"), "t").count(3))
        .scan(entry("b", "2", at("19:01"), "t").count(3))
        .t();
    let second = verdict(&state, "b", "2");
    assert_eq!((second.within, second.over), (1, 2));
    assert_eq!((state.state.within, state.state.over, state.state.inside()), (4, 2, 6));
    // The screen would have said valid for the one person with a place left. The other two are the double entry.
    assert_eq!(second.outcome, Outcome::Valid);
    assert_eq!(second.conflict_reason, Some(ConflictReason::DoubleEntry));
}

#[test]
fn an_exit_takes_over_admitted_persons_first() {
    let state = one(ReEntry::AfterExit, 2)
        .scan(entry("a", "1", at("19:00"), "t").count(2))
        .scan(entry("b", "2", at("19:01"), "t").count(1))
        .scan(exit("c", "3", at("19:02"), "t"))
        .t()
        .state;
    assert_eq!((state.inside_within, state.inside_over, state.exited), (2, 0, 1));
}

#[test]
fn more_persons_out_than_in_is_exit_without_entry() {
    let reduced = one(ReEntry::Never, 2)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(exit("c", "2", at("20:00"), "t").count(3))
        .t();
    let out = verdict(&reduced, "c", "2");
    assert_eq!((out.exited, out.exited_over), (1, 2));
    assert_eq!(kinds(&reduced), [IncidentKind::ExitWithoutEntry]);
    assert_eq!(reduced.causes[0].scans[0].over, 2);
    assert_eq!(IncidentKind::ExitWithoutEntry.severity(), Severity::Low);
}

#[test]
fn after_exit_the_place_is_free_again() {
    let case = one(ReEntry::AfterExit, 1)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(exit("c", "2", at("20:00"), "t"))
        .scan(entry("a", "3", at("20:30"), "t"));
    assert_eq!(kinds(&case.t()), []);
    assert_eq!(case.t().state.within, 2);
    // Only the entry of the present stay collides with a second phone's entry. The entry of the earlier stay does not.
    let reduced = case.scan(entry("b", "4", at("20:31"), "t")).t();
    let conflict: Vec<_> = reduced.verdicts.iter().map(|v| (v.scan_id.as_str(), v.conflict)).collect();
    assert_eq!(conflict, [("1", false), ("2", false), ("3", true), ("4", true)]);
}

#[test]
fn after_a_gap_the_ticket_admits_again_and_the_gap_is_open_at_its_far_end() {
    let again = |time| {
        one(ReEntry::AfterGap, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("a", "2", at(time), "t")).t()
    };
    assert_eq!(verdict(&again("19:04:59"), "a", "2").reason, Some(Reason::TooSoon));
    assert_eq!(verdict(&again("19:04:59"), "a", "2").over, 1);
    assert_eq!(verdict(&again("19:05:00"), "a", "2").over, 0);
    // The entry an hour ago is older than the gap. It used no place of the limit, so it is in no conflict.
    let reduced = one(ReEntry::AfterGap, 1)
        .scan(entry("a", "1", at("18:00"), "t"))
        .scan(entry("a", "2", at("19:00"), "t"))
        .scan(entry("b", "3", at("19:01"), "t"))
        .t();
    assert!(!verdict(&reduced, "a", "1").conflict);
    assert!(verdict(&reduced, "a", "2").conflict);
}

#[test]
fn a_party_arrives_in_parts_at_several_gates() {
    let reduced = one(ReEntry::Never, 4)
        .scan(entry("a", "1", at("19:00"), "t").count(1))
        .scan(entry("b", "2", at("19:05"), "t").count(3).gate("south"))
        .t();
    assert_eq!((reduced.state.within, reduced.state.over), (4, 0));
    assert_eq!(kinds(&reduced), []);
}

#[test]
fn a_refund_at_20_does_not_make_a_19_entry_wrong() {
    let case = one(ReEntry::Never, 1).change("t", at("20:00"), TicketChange::Status(TicketStatus::Refunded));
    assert_eq!(kinds(&case.clone().scan(entry("a", "1", at("19:00"), "t")).t()), []);
    let late = case.clone().scan(entry("a", "1", at("20:00"), "t")).t();
    assert_eq!(kinds(&late), [IncidentKind::AdmittedInError]);
    assert_eq!(late.causes[0].scans[0].reason, Some(Reason::TicketRefunded));
    assert_eq!(late.causes[0].scans[0].manifest_version, 1, "with the list version the device had");
    assert_eq!(late.state.within, 1, "counted all the same");
    // An exit at 22:00 lets nobody in.
    let left = case.scan(entry("a", "1", at("19:00"), "t")).scan(exit("c", "2", at("22:00"), "t")).t();
    assert_eq!(kinds(&left), []);
}

#[test]
fn a_refund_from_the_start_does() {
    let mut case = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t"));
    let refunded = Change::Ticket(crate::case::ticket_id("t"), TicketChange::Status(TicketStatus::Refunded));
    case.rule(Effective::Start, refunded);
    assert_eq!(kinds(&case.t()), [IncidentKind::AdmittedInError]);
}

#[test]
fn a_phone_two_seconds_slow_that_already_knows_a_void_is_not_called_mistaken() {
    let case = one(ReEntry::Never, 1).change("t", at("20:00"), TicketChange::Status(TicketStatus::Voided));
    let refused = entry("a", "1", at("19:59:58"), "t").shut(Outcome::Invalid);
    assert_eq!(kinds(&case.clone().scan(refused.clone().knowing(case.serial)).t()), []);
    assert_eq!(kinds(&case.scan(refused.knowing(1)).t()), [IncidentKind::RefusedInError]);
}

#[test]
fn what_a_device_knew_of_a_lost_future_is_not_known_here() {
    let mut case = one(ReEntry::Never, 1).change("t", at("20:00"), TicketChange::Status(TicketStatus::Voided));
    let next = admit_core::rule::Epoch { restored_at_ms: 2_000, random: 2 };
    // The ledger was restored to the state of serial 2. Serial 3 of the former epoch was another rule than serial 3
    // today.
    case.epochs = admit_core::rule::Epochs::new(vec![(crate::case::EPOCH, 0), (next, 2)]);
    let refused = entry("a", "1", at("19:59:58"), "t").shut(Outcome::Invalid).knowing(3);
    assert_eq!(kinds(&case.clone().scan(refused.clone()).t()), [IncidentKind::RefusedInError]);
    let never_ours = admit_core::rule::Epoch { restored_at_ms: 1_500, random: 9 };
    let strange = refused.clone().with(|fact| fact.scan.epoch = Some(never_ours));
    assert_eq!(kinds(&case.clone().scan(strange).t()), [IncidentKind::RefusedInError]);
    let now = refused.with(|fact| fact.scan.epoch = Some(next));
    assert_eq!(kinds(&case.scan(now).t()), []);
}

#[test]
fn an_online_scan_is_judged_by_the_rules_at_the_head() {
    let case = one(ReEntry::Never, 1).change("t", at("20:00"), TicketChange::Status(TicketStatus::Voided));
    let head = case.serial;
    let online = entry("a", "1", at("19:59:59"), "t").shut(Outcome::Invalid);
    let claim = online.clone().claim(Some((head, Outcome::Invalid)));
    assert_eq!(kinds(&case.clone().scan(online.clone()).t()), [IncidentKind::RefusedInError]);
    assert_eq!(kinds(&case.scan(claim).scan(online).t()), [], "the claim's serial stands for its final too");
}

#[test]
fn admitted_in_error_on_an_override_of_an_unknown_code_is_cleared_by_a_late_import() {
    let sold_late = entry("a", "1", at("19:00"), "late").overridden(Outcome::Invalid);
    let case = Case::new(ReEntry::Never).scan(sold_late);
    let before = case.reduce(&unknown("late"));
    assert_eq!(kinds(&before), [IncidentKind::AdmittedInError]);
    assert_eq!(before.causes[0].scans[0].reason, Some(Reason::UnknownCode));
    assert_eq!(before.state.persons(), 1, "it counts");
    let case = case.ticket("late", 1);
    assert_eq!(kinds(&case.reduce(&ticket("late"))), []);
    assert_eq!(case.reduce(&ticket("late")).state.within, 1);
    assert_eq!(case.reduce(&unknown("late")), Reduced::default());
}

#[test]
fn a_revert_lets_keep_persons_stay_whenever_and_wherever_it_was_taken() {
    for (device, time) in [("a", "19:10"), ("a", "18:00"), ("z", "19:00"), ("z", "23:00")] {
        let reduced = one(ReEntry::Never, 4)
            .scan(entry("a", "1", at("19:00"), "t").count(4))
            .scan(revert(device, "r", at(time), "t", ("a", "1")).keep(1))
            .scan(entry("b", "2", at("20:00"), "t").count(3))
            .t();
        assert_eq!((reduced.state.within, reduced.state.over), (4, 0), "{device} {time}");
        assert_eq!(verdict(&reduced, "a", "1").count, 1);
        assert_eq!(kinds(&reduced), []);
    }
}

#[test]
fn persons_let_in_are_those_of_entries_that_opened_less_those_taken_back() {
    let facts = [
        entry("a", "1", at("19:00"), "t").count(3),
        entry("b", "1", at("19:01"), "t").count(2),
        entry("a", "2", at("19:02"), "t").shut(Outcome::Invalid),
        exit("a", "3", at("19:03"), "t").count(2),
        revert("b", "9", at("19:04"), "t", ("a", "1")).keep(2),
        revert("c", "9", at("19:05"), "t", ("a", "1")).keep(1),
    ]
    .map(Scanned::build);
    assert_eq!(persons_let_in(facts.iter().map(|fact| &fact.scan)), 1 + 2);
}

#[test]
fn of_several_reverts_the_smallest_keep_holds_and_no_revert_adds_persons() {
    let reduced = one(ReEntry::Never, 9)
        .scan(entry("a", "1", at("19:00"), "t").count(4))
        .scan(revert("a", "r1", at("19:01"), "t", ("a", "1")).keep(3))
        .scan(revert("b", "r2", at("19:02"), "t", ("a", "1")).keep(2))
        .scan(revert("c", "r3", at("19:03"), "t", ("a", "1")).keep(9))
        .t();
    assert_eq!(reduced.state.within, 2);
    let more = one(ReEntry::Never, 9)
        .scan(entry("a", "1", at("19:00"), "t").count(4))
        .scan(revert("c", "r3", at("19:03"), "t", ("a", "1")).keep(9));
    assert_eq!(more.t().state.within, 4);
}

#[test]
fn persons_beyond_the_limit_do_not_use_up_a_limit_that_is_raised_later() {
    for mode in [ReEntry::Never, ReEntry::AfterExit, ReEntry::AfterGap] {
        let reduced = one(mode, 1)
            .change("t", at("19:02"), TicketChange::EntryLimit(2))
            .scan(entry("a", "1", at("19:00"), "t"))
            .scan(entry("b", "2", at("19:01"), "t"))
            .scan(entry("a", "3", at("19:03"), "t"))
            .t();
        assert_eq!((reduced.state.within, reduced.state.over), (2, 1), "{mode}");
    }
}

#[test]
fn before_its_target_arrives_a_revert_does_nothing_and_a_revert_of_a_revert_does_nothing() {
    let alone = one(ReEntry::Never, 1).scan(revert("a", "r", at("19:01"), "t", ("a", "1")));
    assert_eq!((alone.t().state.persons(), kinds(&alone.t())), (0, vec![]));
    let undone = alone.scan(entry("a", "1", at("19:00"), "t"));
    assert_eq!(undone.t().state.persons(), 0);
    let of_revert = undone.scan(revert("a", "rr", at("19:02"), "t", ("a", "r")));
    assert_eq!(of_revert.t().state.persons(), 0);
}

#[test]
fn a_revert_acts_only_if_it_survived_and_only_on_its_own_ticket() {
    let case = one(ReEntry::Never, 1).ticket("u", 1).scan(entry("a", "1", at("19:00"), "t"));
    let unverified = case.clone().scan(revert("b", "r", at("19:01"), "t", ("a", "1")).unverified());
    assert_eq!(unverified.t().state.persons(), 1);
    assert_eq!(unverified.clone().review("b", "r", Decision::Accept).t().state.persons(), 0);
    let foreign = case.scan(revert("a", "r", at("19:01"), "u", ("a", "1")));
    assert_eq!(foreign.t().state.persons(), 1);
}

#[test]
fn an_exit_can_be_reverted_too() {
    let reduced = one(ReEntry::AfterExit, 2)
        .scan(entry("a", "1", at("19:00"), "t").count(2))
        .scan(exit("c", "2", at("20:00"), "t").count(2))
        .scan(revert("c", "3", at("20:01"), "t", ("c", "2")))
        .t();
    assert_eq!((reduced.state.inside(), reduced.state.exited), (2, 0));
}

#[test]
fn an_implausible_scan_counts_sorts_last_and_satisfies_no_gap() {
    // The phone's clock is thirty days behind. If that time were believed, every gap would have passed.
    let behind = at("19:10").plus_ms(-30 * 86_400_000);
    let reduced =
        one(ReEntry::AfterGap, 1).scan(entry("x", "0", behind, "t")).scan(entry("a", "1", at("19:00"), "t")).t();
    let last = reduced.verdicts.last().unwrap();
    assert_eq!((last.scan_id.as_str(), last.implausible, last.over), ("0", true, 1));
    assert_eq!(kinds(&reduced), [IncidentKind::DoubleEntry, IncidentKind::ImplausibleTime]);
    assert!(verdict(&reduced, "a", "1").conflict, "the entry it came on top of");
}

#[test]
fn plausible_is_within_a_day_of_the_events_newest_start_and_end() {
    let reduced = |time| one(ReEntry::Never, 9).scan(entry("a", "1", time, "t")).t();
    let (first, last) = (at("18:00").plus_ms(-86_400_000), at("26:00").plus_ms(86_400_000));
    for (time, implausible) in [(first, false), (first.plus_ms(-1), true), (last, false), (last.plus_ms(1), true)] {
        assert_eq!(verdict(&reduced(time), "a", "1").implausible, implausible, "{time}");
    }
    // A change of the event's end changes the verdict, whatever the time of the scan.
    let case = one(ReEntry::Never, 9).scan(entry("a", "1", last.plus_ms(1), "t"));
    let later = case.change_event(at("30:00"), EventChange::EndsAt(at("27:00")));
    assert!(cause(&later.t(), IncidentKind::ImplausibleTime).is_none());
}

#[test]
fn for_start_and_end_the_newest_value_holds_and_a_rule_twice_is_a_rule_once() {
    let mut case = one(ReEntry::Never, 1).change_event(at("20:00"), EventChange::EndsAt(at("27:00")));
    let early = When::Scan { at: at("18:30"), known: 1 };
    let rules = case.book().event(early).unwrap();
    assert_eq!((rules.starts_at, rules.ends_at), (at("18:00"), at("27:00")));
    assert_eq!(case.book().event(When::Known(1)).unwrap().ends_at, at("26:00"), "what a device had stays what it had");
    let once = case.book();
    case.rules.extend(case.rules.clone());
    assert_eq!(case.book(), once);
}

#[test]
fn order_is_uncertain_when_winner_and_loser_overlap_within_their_uncertainties() {
    let order_uncertain = |apart_ms| {
        let reduced = one(ReEntry::Never, 1)
            .scan(entry("a", "1", at("19:00"), "t").uncertainty(400))
            .scan(entry("b", "2", at("19:00").plus_ms(apart_ms), "t").uncertainty(600))
            .t();
        cause(&reduced, IncidentKind::DoubleEntry).unwrap().order_uncertain
    };
    assert!(order_uncertain(1_000));
    assert!(!order_uncertain(1_001));
}

#[test]
fn equal_times_are_ordered_by_device_then_scan_id() {
    let reduced = one(ReEntry::Never, 1)
        .scan(entry("b", "1", at("19:00"), "t"))
        .scan(entry("a", "3", at("19:00"), "t"))
        .scan(entry("a", "2", at("19:00"), "t"))
        .t();
    let order: Vec<_> = reduced.verdicts.iter().map(|v| (v.device_id.as_str(), v.scan_id.as_str(), v.within)).collect();
    assert_eq!(order, [("a", "2", 1), ("a", "3", 0), ("b", "1", 0)]);
}

#[test]
fn the_re_entry_mode_at_each_scans_time_decides() {
    let case = one(ReEntry::Never, 1)
        .change_event(at("21:00"), EventChange::ReEntry(ReEntry::AfterExit))
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(exit("c", "2", at("19:30"), "t"));
    let before = case.clone().scan(entry("a", "3", at("20:00"), "t")).t();
    assert_eq!(verdict(&before, "a", "3").over, 1);
    let after = case.scan(entry("a", "3", at("22:00"), "t")).t();
    assert_eq!(verdict(&after, "a", "3").over, 0);
}

#[test]
fn limit_gates_zone_and_window_hold_as_they_stood_at_the_scan() {
    let gates = TicketChange::GateIds(vec![crate::case::gate("vip")]);
    let window = TicketChange::Window { valid_from: Some(at("21:00")), expires_at: None };
    for (change, outcome) in [
        (TicketChange::EntryLimit(0), Outcome::Duplicate),
        (gates, Outcome::GateAccessDenied),
        (TicketChange::Zone("vip".into()), Outcome::GateAccessDenied),
        (window, Outcome::Expired),
    ] {
        let case = one(ReEntry::Never, 1).change("t", at("20:00"), change);
        let said = |time| case.clone().scan(entry("a", "1", at(time), "t")).t().verdicts[0].outcome;
        assert_eq!((said("19:59:59"), said("20:00")), (Outcome::Valid, outcome));
    }
}

#[test]
fn a_gates_zones_hold_as_they_stood_at_the_scan() {
    let mut case = one(ReEntry::Never, 1);
    let zones = GateChange::Zones(vec!["vip".into()]);
    case.rule(Effective::At(at("20:00")), Change::Gate(crate::case::gate("north"), zones));
    let said = |time| case.clone().scan(entry("a", "1", at(time), "t")).t().verdicts[0].outcome;
    assert_eq!((said("19:00"), said("21:00")), (Outcome::Valid, Outcome::GateAccessDenied));
}

#[test]
fn opened_though_refused_for_gate_or_window_counts_and_is_admitted_in_error() {
    let case = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("19:00"), "t").gate("vip").overridden(Outcome::GateAccessDenied));
    assert_eq!((case.t().state.within, kinds(&case.t())), (1, vec![IncidentKind::AdmittedInError]));
    let early = Case::new(ReEntry::Never)
        .ticket_with("t", 1, |rules| rules.valid_from = Some(at("20:00")))
        .scan(entry("a", "1", at("19:00"), "t"));
    assert_eq!(early.t().causes[0].scans[0].reason, Some(Reason::NotYetValid));
}

#[test]
fn a_gate_that_checks_no_duplicates_counts_persons_beyond_the_limit_without_an_alarm() {
    let reduced = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(entry("b", "2", at("19:05"), "t").gate("free"))
        .t();
    assert_eq!((reduced.state.within, reduced.state.over), (1, 1));
    assert_eq!(kinds(&reduced), []);
}

#[test]
fn the_gap_of_the_rules_at_the_scan_counts() {
    let case = one(ReEntry::AfterGap, 1).change_event(at("20:00"), EventChange::MinGapSeconds(3_600)).scan(entry(
        "a",
        "1",
        at("19:30"),
        "t",
    ));
    assert_eq!(case.clone().scan(entry("a", "2", at("19:40"), "t")).t().state.over, 0);
    assert_eq!(case.scan(entry("a", "2", at("20:10"), "t")).t().state.over, 1);
}
