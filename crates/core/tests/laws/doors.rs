//! Drafts, ends and days: what a scan counts before doors open, after the event, and on another day (decision 034).

use admit_core::decide::Reason;
use admit_core::event::{EventStatus, Limits, ReEntry, ZoneLimits};
use admit_core::incident::{IncidentKind, Severity};
use admit_core::reduce::{LeftOut, TicketState, Visit};
use admit_core::review::Decision;
use admit_core::rule::{Change, Effective, EventChange, When};
use admit_core::scan::Outcome;

use crate::case::{Case, at, cause, entry, exit, gate, kinds, revert, verdict};

fn one(mode: ReEntry, limit: u32) -> Case {
    Case::new(mode).ticket("t", limit)
}

#[test]
fn practice_counts_nothing_and_takes_no_place() {
    let reduced = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("17:00"), "t").practice())
        .scan(entry("b", "2", at("19:00"), "t"))
        .t();
    let practice = verdict(&reduced, "a", "1");
    assert_eq!((practice.left_out, practice.count), (Some(LeftOut::Practice), 0));
    assert_eq!((verdict(&reduced, "b", "2").within, reduced.state.persons()), (1, 1));
    assert_eq!(kinds(&reduced), [], "practice before the doors is nobody's affair");
}

#[test]
fn practice_that_a_person_accepts_counts_in_its_own_time() {
    let reduced = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("17:59"), "t").practice())
        .scan(entry("b", "2", at("19:00"), "t"))
        .review("a", "1", Decision::Accept)
        .t();
    assert_eq!((verdict(&reduced, "a", "1").within, verdict(&reduced, "b", "2").over), (1, 1));
}

#[test]
fn practice_that_was_undone_stays_undone_when_both_are_accepted() {
    let case = one(ReEntry::Never, 1)
        .scan(entry("a", "1", at("17:00"), "t").practice())
        .scan(revert("a", "2", at("17:01"), "t", ("a", "1")).practice())
        .review("a", "1", Decision::Accept)
        .review("a", "2", Decision::Accept);
    assert_eq!(case.t().state, TicketState::default());
}

/// The phone did not know yet that the doors are open. Its guests are in, and a person must decide whether they count.
#[test]
fn practice_that_opened_a_door_after_the_doors_is_a_cause_until_a_person_decides() {
    let late = || one(ReEntry::Never, 1).scan(entry("a", "1", at("18:01"), "t").practice());
    let found = cause(&late().t(), IncidentKind::PracticeAfterOpen).cloned().unwrap();
    assert_eq!((found.kind.severity(), found.scans.len()), (Severity::Medium, 1));
    for decision in [Decision::Accept, Decision::Exclude] {
        assert_eq!(kinds(&late().review("a", "1", decision).t()), [], "{decision}");
    }
    let shut = one(ReEntry::Never, 1).scan(entry("a", "1", at("18:01"), "t").practice().shut(Outcome::Invalid));
    assert_eq!(kinds(&shut.t()), [], "it let nobody in");
    let at_the_very_moment = one(ReEntry::Never, 1).scan(entry("a", "1", at("18:00"), "t").practice());
    assert_eq!(kinds(&at_the_very_moment.t()), []);
    let unproven = one(ReEntry::Never, 1).scan(entry("a", "1", at("17:00"), "t").practice().unverified());
    assert_eq!(kinds(&unproven.t()), [], "nobody has to prove who practised");
}

#[test]
fn doors_that_opened_later_than_was_thought_make_less_of_practice() {
    let case = one(ReEntry::Never, 1).scan(entry("a", "1", at("18:01"), "t").practice());
    let moved = case.change_event(at("18:02"), EventChange::OpenedAt(Some(at("18:02"))));
    assert_eq!(kinds(&moved.t()), []);
}

#[test]
fn who_is_let_in_after_the_end_is_told_apart_and_counts() {
    let ended = |case: Case| case.change_event(at("25:00"), EventChange::Status(EventStatus::Ended));
    let reduced =
        ended(one(ReEntry::Never, 1)).scan(entry("a", "1", at("25:30"), "t").overridden(Outcome::Expired)).t();
    let late = verdict(&reduced, "a", "1");
    assert_eq!((late.outcome, late.reason, late.within), (Outcome::Expired, Some(Reason::EventEnded), 1));
    assert_eq!(kinds(&reduced), [IncidentKind::AdmittedAfterEnd]);
    assert_eq!(IncidentKind::AdmittedAfterEnd.severity(), Severity::Low);
    // A guest who came before the end was let in rightly, however late their scan arrives.
    let before = ended(one(ReEntry::Never, 1)).scan(entry("a", "1", at("24:59"), "t")).t();
    assert_eq!((verdict(&before, "a", "1").outcome, kinds(&before)), (Outcome::Valid, vec![]));
    // This phone knew of the end before the scan's time: the end was in force for it already.
    let mut knew = ended(one(ReEntry::Never, 1));
    knew = knew.scan(entry("a", "1", at("24:59"), "t").overridden(Outcome::Expired).knowing(3));
    assert_eq!(verdict(&knew.t(), "a", "1").reason, Some(Reason::EventEnded));
    let leaving = ended(one(ReEntry::Never, 1))
        .scan(entry("a", "1", at("20:00"), "t"))
        .scan(exit("c", "2", at("25:30"), "t"))
        .t();
    assert_eq!((verdict(&leaving, "c", "2").outcome, kinds(&leaving)), (Outcome::Valid, vec![]));
}

#[test]
fn an_end_that_is_taken_back_was_none() {
    let mut case = one(ReEntry::Never, 1).change_event(at("25:00"), EventChange::Status(EventStatus::Ended));
    let live = Change::Event(EventChange::Status(EventStatus::Live));
    case.rule(Effective::Start, live);
    let reduced = case.scan(entry("a", "1", at("25:30"), "t")).t();
    assert_eq!((verdict(&reduced, "a", "1").outcome, kinds(&reduced)), (Outcome::Valid, vec![]));
}

#[test]
fn daily_lets_the_whole_party_in_once_a_day() {
    let reduced = one(ReEntry::Daily, 2)
        .scan(entry("a", "1", at("19:00"), "t").count(2))
        .scan(entry("a", "2", at("19:05"), "t").overridden(Outcome::Duplicate))
        .scan(entry("a", "3", at("19:10"), "t").count(2))
        .t();
    let second = verdict(&reduced, "a", "2");
    assert_eq!((second.outcome, second.reason), (Outcome::Duplicate, Some(Reason::AlreadyToday)));
    assert_eq!((second.over, verdict(&reduced, "a", "1").conflict), (1, true));
    let next_day = verdict(&reduced, "a", "3");
    assert_eq!((next_day.outcome, next_day.within, next_day.conflict), (Outcome::Valid, 2, false));
    assert_eq!(reduced.state.within, 4);
}

#[test]
fn the_newest_word_about_when_days_begin_holds_for_all_scans() {
    let two = one(ReEntry::Daily, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("a", "2", at("19:20"), "t"));
    assert_eq!(kinds(&two.t()), []);
    let moved = two.change_event(at("23:00"), EventChange::Days(admit_core::event::Days::new(vec![at("19:30")])));
    assert_eq!(kinds(&moved.t()), [IncidentKind::DoubleEntry]);
}

#[test]
fn a_scan_of_implausible_time_finds_no_day_unused() {
    let before = at("18:00").plus_ms(-3 * 86_400_000);
    let reduced = one(ReEntry::Daily, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("b", "2", before, "t")).t();
    assert_eq!((verdict(&reduced, "b", "2").within, verdict(&reduced, "b", "2").over), (0, 1));
}

/// One of two clocks is wrong, and nobody can tell which. So the entry takes a place today too.
#[test]
fn at_a_door_an_entry_of_tomorrow_leaves_todays_place_taken() {
    let case =
        one(ReEntry::Daily, 2).scan(entry("a", "1", at("19:00"), "t").count(2)).scan(entry("b", "2", at("22:30"), "t"));
    let (state, event) = (case.t().state, case.book().event(When::Newest).unwrap());
    let north = gate("north");
    let visit = Visit { event: &event, zone: Some("general"), gate_id: &north };
    assert_eq!(state.standing_at_door(&visit, at("19:05")).used, 2, "today is used up");
    assert_eq!(state.standing_at_door(&visit, at("22:31")).used, 1, "of tomorrow one place is left");
    assert_eq!(state.standing_at_door(&visit, at("20:00")).used, 1, "between them, the entry ahead counts");
}

/// A case in which the zone of every ticket has limits of its own.
fn limited(mode: ReEntry, limit: u32, limits: Limits) -> Case {
    let mut case = one(mode, limit);
    let limits = ZoneLimits::new([("general".to_owned(), limits)].into());
    case.rule(Effective::Start, Change::Event(EventChange::Limits(limits)));
    case
}

#[test]
fn once_at_each_gate_counts_each_gate_by_itself() {
    let reduced = limited(ReEntry::Never, 1, Limits { per_gate: true, ..Limits::default() })
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(entry("b", "2", at("19:01"), "t").gate("south"))
        .scan(entry("a", "3", at("19:02"), "t"))
        .t();
    assert_eq!((verdict(&reduced, "b", "2").outcome, verdict(&reduced, "b", "2").within), (Outcome::Valid, 1));
    let again = verdict(&reduced, "a", "3");
    assert_eq!((again.reason, again.over), (Some(Reason::AlreadyAtGate), 1));
    assert!(verdict(&reduced, "a", "1").conflict && !verdict(&reduced, "b", "2").conflict, "only who was there before");
}

#[test]
fn so_many_in_all_is_a_bound_over_every_mode() {
    let three = Limits { uses: Some(3), ..Limits::default() };
    let reduced = limited(ReEntry::Daily, 2, three)
        .scan(entry("a", "1", at("19:00"), "t").count(2))
        .scan(entry("a", "2", at("20:00"), "t").count(2))
        .scan(entry("a", "3", at("23:00"), "t"))
        .t();
    assert_eq!((verdict(&reduced, "a", "2").within, verdict(&reduced, "a", "2").over), (1, 1), "one was left of three");
    let last = verdict(&reduced, "a", "3");
    assert_eq!((last.outcome, last.reason), (Outcome::Duplicate, Some(Reason::UsesSpent)));
    assert!(verdict(&reduced, "a", "1").conflict, "every entry has a part in what is spent");
}

#[test]
fn a_zone_may_come_and_go_where_the_others_may_not() {
    let after_exit = Limits { re_entry: Some(ReEntry::AfterExit), per_gate: true, ..Limits::default() };
    let reduced = limited(ReEntry::Never, 1, after_exit)
        .scan(entry("a", "1", at("19:00"), "t"))
        .scan(exit("c", "2", at("19:30"), "t"))
        .scan(entry("b", "3", at("20:00"), "t").gate("south"))
        .scan(entry("a", "4", at("20:30"), "t"))
        .t();
    assert_eq!(verdict(&reduced, "b", "3").within, 1);
    assert_eq!(verdict(&reduced, "a", "4").over, 1, "who is inside is inside, by whichever gate");
}
