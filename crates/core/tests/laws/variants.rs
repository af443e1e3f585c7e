//! Which content of a scan is taken, what deliveries prove, and what a person's review changes.

use admit_core::decide::Reason;
use admit_core::event::ReEntry;
use admit_core::incident::{Cause, CauseSubject, IncidentKind, Role};
use admit_core::reduce::{LeftOut, Reduced};
use admit_core::review::Decision;
use admit_core::scan::{Outcome, SignatureState};

use crate::case::{Case, Scanned, at, cause, entry, kinds, ticket, verdict};

fn one(mode: ReEntry, limit: u32) -> Case {
    Case::new(mode).ticket("t", limit)
}

/// Which of two contents under one id the reducer took: returns the `count` of that content.
fn taken(a: Scanned, b: Scanned) -> u32 {
    let both = one(ReEntry::Never, 9).scan(a.clone()).scan(b.clone()).t();
    let turned = one(ReEntry::Never, 9).scan(b).scan(a).t();
    assert_eq!(both, turned, "whatever came first");
    assert!(both.verdicts.len() == 1, "one scan, one verdict");
    both.verdicts[0].count
}

#[test]
fn of_several_contents_the_first_by_verified_final_opened_smallest_digest_is_taken() {
    let base = entry("a", "1", at("19:00"), "t");
    let claim = base.clone().claim(Some((2, Outcome::Valid)));
    let shut = base.clone().shut(Outcome::Invalid);
    // Each property decides before the digests do. Several counts are tried, so that both digest orders occur.
    for n in 2..12 {
        assert_eq!(taken(claim.clone().count(n), base.clone().count(1).unverified()), n, "verified first");
        assert_eq!(taken(shut.clone().count(n), claim.clone().count(1)), n, "then final over claim");
        assert_eq!(taken(base.clone().count(n), shut.clone().count(1)), n, "then opened over shut");
        let (a, b) = (base.clone().count(n), base.clone().count(1));
        let smaller = if a.clone().build().digest < b.clone().build().digest { n } else { 1 };
        assert_eq!(taken(a, b), smaller, "then the smallest digest");
    }
}

#[test]
fn two_contents_under_one_id_are_an_incident_and_the_same_content_twice_is_not() {
    let scan = entry("a", "1", at("19:00"), "t");
    let twice = one(ReEntry::Never, 9).scan(scan.clone()).scan(scan.clone()).t();
    assert_eq!((twice.state.within, kinds(&twice)), (1, vec![]));
    let other = one(ReEntry::Never, 9).scan(scan.clone()).scan(scan.count(2)).t();
    assert_eq!(kinds(&other), [IncidentKind::ScanIdReused]);
}

#[test]
fn the_same_id_from_another_device_is_another_scan() {
    let reduced =
        one(ReEntry::Never, 9).scan(entry("a", "1", at("19:00"), "t")).scan(entry("b", "1", at("19:00"), "t")).t();
    assert_eq!((reduced.state.within, reduced.verdicts.len()), (2, 2));
}

#[test]
fn contents_that_resolve_to_two_tickets_count_on_one_of_them() {
    let case = one(ReEntry::Never, 9)
        .ticket("u", 9)
        .scan(entry("a", "1", at("19:00"), "t").shut(Outcome::Invalid))
        .scan(entry("a", "1", at("19:00"), "u"));
    assert_eq!(case.t(), Reduced::default(), "the opened content is taken, and it is u's");
    assert_eq!(case.reduce(&ticket("u")).state.within, 1);
}

#[test]
fn a_scan_of_s2s_form_sent_online_and_again_in_a_batch_is_one_scan_and_opened_wins() {
    let batch = entry("a", "1", at("19:00"), "t").s2();
    let online = batch.clone().shut(Outcome::Duplicate);
    let both = one(ReEntry::Never, 1).scan(online.clone()).scan(batch.clone()).t();
    assert_eq!((both.state.within, kinds(&both)), (1, vec![]));
    // In this form, too, a scan with the same id and another code or time is a reuse of the id.
    let other = one(ReEntry::Never, 1).scan(batch).scan(entry("a", "1", at("19:30"), "t").s2()).t();
    assert!(kinds(&other).contains(&IncidentKind::ScanIdReused));
}

#[test]
fn an_unverified_scan_counts_nothing_until_a_review_accepts_it() {
    let case = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t").unverified());
    let waiting = case.t();
    assert_eq!((waiting.state.persons(), kinds(&waiting)), (0, vec![IncidentKind::UnverifiedScan]));
    assert_eq!(verdict(&waiting, "a", "1").left_out, Some(LeftOut::Unverified));
    let accepted = case.clone().review("a", "1", Decision::Accept);
    assert_eq!((accepted.t().state.within, kinds(&accepted.t())), (1, vec![]));
    assert_eq!(accepted.review("a", "1", Decision::Restore).t(), waiting);
}

#[test]
fn a_withheld_scan_is_unverified_whoever_carries_it() {
    let late = entry("a", "1", at("19:00"), "t").with(|fact| fact.withheld = true);
    let case = one(ReEntry::Never, 1).scan(late.clone());
    assert_eq!(kinds(&case.t()), [IncidentKind::UnverifiedScan]);
    let earlier = late.with(|fact| fact.withheld = false);
    assert_eq!(case.scan(earlier).t().state.within, 1, "another delivery came before it");
}

/// spec D10: an S1 device that is admitted again under another key sends a withheld scan once more. Its old signature
/// no longer verifies, and that is no reason to count the scan.
#[test]
fn a_delivery_that_proves_nothing_lifts_no_hold() {
    let held = entry("a", "1", at("19:00"), "t").with(|fact| fact.withheld = true);
    let again = held.clone().unverified().with(|fact| fact.withheld = false);
    for case in
        [one(ReEntry::Never, 1).scan(held.clone()).scan(again.clone()), one(ReEntry::Never, 1).scan(again).scan(held)]
    {
        assert_eq!((case.t().state.persons(), kinds(&case.t())), (0, vec![IncidentKind::UnverifiedScan]));
    }
}

#[test]
fn exclude_un_counts_restore_takes_it_back_and_the_highest_serial_wins() {
    let case = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("b", "2", at("19:01"), "t"));
    assert_eq!(kinds(&case.t()), [IncidentKind::DoubleEntry]);
    let excluded = case.clone().review("b", "2", Decision::Exclude);
    assert_eq!((excluded.t().state.persons(), kinds(&excluded.t())), (1, vec![]));
    assert_eq!(verdict(&excluded.t(), "b", "2").left_out, Some(LeftOut::Excluded));
    let restored = excluded.review("b", "2", Decision::Restore);
    assert_eq!(restored.t(), case.t());
    let mut turned = restored.review("b", "2", Decision::Exclude);
    turned.reviews.reverse();
    assert_eq!(turned.t().state.persons(), 1);
}

#[test]
fn a_review_speaks_of_the_content_the_person_saw_and_of_no_other() {
    let scan = entry("a", "1", at("19:00"), "t");
    let case = one(ReEntry::Never, 9).scan(scan.clone().shut(Outcome::Invalid)).review("a", "1", Decision::Exclude);
    assert_eq!(case.t().state.persons(), 0);
    assert_eq!(case.scan(scan).t().state.persons(), 1, "the opened content was not reviewed");
}

#[test]
fn the_best_signature_over_all_deliveries_counts() {
    let good = entry("a", "1", at("19:00"), "t");
    let bad = good.clone().unverified();
    let bearer = good.clone().with(|fact| fact.signature = SignatureState::Bearer);
    for pair in [[good.clone(), bad.clone()], [bad.clone(), good], [bad.clone(), bearer.clone()], [bearer, bad]] {
        let [first, second] = pair;
        assert_eq!(one(ReEntry::Never, 1).scan(first).scan(second).t().state.within, 1);
    }
}

#[test]
fn of_several_offsets_seen_for_one_scan_the_smallest_by_size_then_value_is_taken() {
    let seen = |offsets: &[i64]| {
        let scan = entry("a", "1", at("19:00"), "t").v1(0);
        let case = one(ReEntry::Never, 1);
        let with = |case: Case, offset: &i64| case.scan(scan.clone().with(|fact| fact.offset_seconds = *offset));
        offsets.iter().fold(case, with).t().verdicts[0].at.since(at("19:00"))
    };
    assert_eq!(seen(&[5]), 5_000);
    assert_eq!(seen(&[5, -3]), -3_000);
    assert_eq!(seen(&[3, -3]), -3_000);
    assert_eq!(seen(&[-3, 3, 40]), -3_000);
}

#[test]
fn of_several_receipts_of_one_scan_the_earliest_says_whether_it_came_from_the_future() {
    let received = |text: &str| entry("a", "1", at("19:00"), "t").with(|fact| fact.received_at = at(text));
    for pair in [["18:00", "20:00"], ["20:00", "18:00"]] {
        let case = one(ReEntry::Never, 1).scan(received(pair[0])).scan(received(pair[1]));
        assert!(cause(&case.t(), IncidentKind::FutureTime).is_some(), "an hour before its own time: {pair:?}");
    }
}

#[test]
fn of_several_answers_to_one_claim_the_one_under_the_lowest_head_holds() {
    let answered = |serial, said| entry("a", "1", at("19:00"), "t").claim(Some((serial, said)));
    let (first, later) = (answered(2, Outcome::Valid), answered(3, Outcome::Duplicate));
    for [a, b] in [[first.clone(), later.clone()], [later, first]] {
        assert_eq!(one(ReEntry::Never, 1).scan(a).scan(b).t().state.within, 1, "whichever comes first");
    }
}

#[test]
fn two_claims_of_different_content_under_one_id_are_a_reuse() {
    let claim = |count| entry("a", "1", at("19:00"), "t").claim(Some((2, Outcome::Valid))).count(count);
    let twice = one(ReEntry::Never, 9).scan(claim(1)).scan(claim(1)).t();
    assert_eq!(kinds(&twice), []);
    let other = one(ReEntry::Never, 9).scan(claim(1)).scan(claim(2)).t();
    assert_eq!(kinds(&other), [IncidentKind::ScanIdReused]);
}

#[test]
fn an_incident_reopens_only_when_what_was_found_changed() {
    let case = one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("b", "2", at("19:01"), "t"));
    let digest = |case: &Case| cause(&case.t(), IncidentKind::DoubleEntry).unwrap().digest();
    let same = case.clone().scan(entry("c", "3", at("19:05"), "t").shut(Outcome::Duplicate));
    assert_eq!(digest(&same), digest(&case), "a refused scan adds nothing to it");
    let third = case.clone().scan(entry("c", "3", at("19:05"), "t"));
    assert_ne!(digest(&third), digest(&case), "a third person does");
    // A later delivery corrects the time of a v1 scan. The time is part of the finding, so the digest changes.
    let v1 = |offset| case.clone().scan(entry("z", "9", at("19:10"), "t").v1(offset));
    assert_ne!(digest(&v1(5)), digest(&v1(4)));
}

#[test]
fn a_digest_names_kind_subject_scans_roles_times_persons_and_how_sure() {
    let reduced =
        one(ReEntry::Never, 1).scan(entry("a", "1", at("19:00"), "t")).scan(entry("b", "2", at("19:01"), "t")).t();
    let cause = cause(&reduced, IncidentKind::DoubleEntry).unwrap();
    let changes: [fn(&mut Cause); 9] = [
        |cause| cause.kind = IncidentKind::DuplicateScan,
        |cause| cause.subject = CauseSubject::Scans(ticket("u")),
        |cause| cause.order_uncertain = true,
        |cause| cause.scans.truncate(1),
        |cause| cause.scans[0].role = Role::Subject,
        |cause| cause.scans[0].at = at("18:59"),
        |cause| cause.scans[0].within = 2,
        |cause| cause.scans[0].over = 1,
        |cause| cause.scans[0].reason = Some(Reason::WrongGate),
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut other = cause.clone();
        change(&mut other);
        assert_ne!(other.digest(), cause.digest(), "change {i}");
    }
    assert_eq!(cause.clone().digest(), cause.digest());
}
