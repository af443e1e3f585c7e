//! The properties of `reduce` that spec §4 names, checked on thousands of generated histories.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::event::ReEntry;
use admit_core::incident::{Cause, CauseScan, IncidentKind, Subject};
use admit_core::judgement::{self, Judgement};
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{ConflictReason, Reduced, ScanVerdict, TicketState, merge_deliveries};
use admit_core::review::{Decision, Review};
use admit_core::rule::{Change, Effective, EventChange, TicketChange, When};
use admit_core::scan::{Fact, Form, ScanKind, SignatureState, Stage};
use admit_core::time::Timestamp;

use crate::case::{Case, Scanned, at};
use crate::generator::{History, Rng, history, history_of};

/// Prints the seed of the history for which a property did not hold.
struct Seed(u64);
impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the property broke at seed {}: {:#?}", self.0, history(self.0).case);
        }
    }
}

/// Checks a property on 2,000 histories, or as many as `ADMIT_LAWS` says.
fn for_all(property: impl Fn(&mut Rng, History)) {
    let number = |name| std::env::var(name).ok().map(|n| n.parse().expect("a whole number"));
    let (from, n) = (number("ADMIT_LAWS_FROM").unwrap_or(0), number("ADMIT_LAWS").unwrap_or(2_000));
    for seed in from..from + n {
        let named = Seed(seed);
        property(&mut Rng::new(seed ^ 0xfeed), history(seed));
        drop(named);
    }
}

type Id = (String, String);
fn id(fact: &Fact) -> Id {
    (fact.scan.device_id.to_string(), fact.scan.scan_id.to_string())
}
fn id_of(verdict: &ScanVerdict) -> Id {
    (verdict.device_id.to_string(), verdict.scan_id.to_string())
}
/// How many contents each scan id has.
fn contents(case: &Case) -> BTreeMap<Id, BTreeSet<[u8; 32]>> {
    let mut map = BTreeMap::<_, BTreeSet<_>>::new();
    for fact in &case.facts {
        map.entry(id(fact)).or_default().insert(fact.digest.0);
    }
    map
}
fn counted(reduced: &Reduced) -> impl Iterator<Item = &ScanVerdict> {
    reduced.verdicts.iter().filter(|verdict| verdict.left_out.is_none())
}
fn persons(all: &[(Subject, Reduced)]) -> u32 {
    all.iter().map(|(_, reduced)| reduced.state.persons()).sum()
}
/// The effect of a scan at the door, without the findings about its neighbours.
fn deed(verdict: &ScanVerdict) -> impl PartialEq + std::fmt::Debug + use<> {
    (id_of(verdict), verdict.outcome, verdict.reason, verdict.within, verdict.over, verdict.exited, verdict.exited_over)
}

#[test]
fn what_the_reducer_says_is_stored_and_read_back_whole() {
    for_all(|rng, History { case, .. }| {
        for (subject, reduced) in case.reduce_all() {
            let occupancy = Occupancy::of(&reduced);
            let bytes = judgement::to_bytes(&reduced.state, &occupancy, &reduced.effective, &reduced.verdicts);
            let Reduced { state, effective, verdicts, .. } = reduced;
            let written = Judgement { state, occupancy, effective, verdicts };
            assert_eq!(judgement::from_bytes(&bytes).as_ref(), Ok(&written), "{subject:?}");
            // Bytes that were cut or changed give an error or another judgement, never a panic.
            let place = rng.below(bytes.len() as u64) as usize;
            assert!(judgement::from_bytes(&bytes[..place]).is_err());
            let mut changed = bytes.clone();
            changed[place] = changed[place].wrapping_add(1 + rng.below(255) as u8);
            if let Ok(other) = judgement::from_bytes(&changed) {
                let Judgement { state, occupancy, effective, verdicts } = &other;
                let again = judgement::to_bytes(state, occupancy, effective, verdicts);
                assert_eq!(judgement::from_bytes(&again).as_ref(), Ok(&other));
            }
        }
    });
}

#[test]
fn order_and_repetition_of_all_three_sets_leave_the_result_unchanged() {
    for_all(|rng, History { mut case, .. }| {
        let expected = case.reduce_all();
        for _ in 0..3 {
            for _ in 0..rng.below(4) {
                case.rules.push(rng.pick(&case.rules).clone());
                if !case.facts.is_empty() {
                    case.facts.push(rng.pick(&case.facts).clone());
                }
                if !case.reviews.is_empty() {
                    case.reviews.push(rng.pick(&case.reviews).clone());
                }
            }
            rng.shuffle(&mut case.rules);
            rng.shuffle(&mut case.facts);
            rng.shuffle(&mut case.reviews);
            assert_eq!(case.reduce_all(), expected);
        }
    });
}

/// The generator makes a history of any bytes, wherever they end. The fuzz targets in crates/fuzz rely on that.
#[test]
fn any_bytes_make_a_history() {
    for byte in 0..=u8::MAX {
        let History { case, .. } = history_of(Rng::of_bytes(&[byte; 48]));
        let mut turned = case.clone();
        turned.facts.reverse();
        assert_eq!(turned.reduce_all(), case.reduce_all());
    }
}

#[test]
fn batching_leaves_the_result_unchanged() {
    // A store keeps one row per content and merges each delivery into it. The batches may be cut anywhere.
    for_all(|rng, History { mut case, .. }| {
        let expected = case.reduce_all();
        rng.shuffle(&mut case.facts);
        let mut rows: Vec<Fact> = Vec::new();
        for fact in case.facts.drain(..) {
            let known = rows.iter_mut().find(|row| id(row) == id(&fact) && row.digest == fact.digest);
            match known {
                Some(row) if rng.percent(80) => merge_deliveries(row, &fact),
                _ => rows.push(fact),
            }
        }
        case.facts = rows;
        assert_eq!(case.reduce_all(), expected);
    });
}

#[test]
fn what_a_scan_did_depends_on_no_later_one_so_folding_on_equals_re_folding() {
    for_all(|rng, History { case, .. }| {
        for (subject, whole) in case.reduce_all() {
            let order: Vec<&ScanVerdict> = counted(&whole).collect();
            // A revert changes the result of earlier scans. The store then reduces all scans of the subject again, so
            // this property leaves reverts out.
            if order.is_empty() || order.iter().any(|verdict| verdict.kind == ScanKind::Revert) {
                continue;
            }
            let cut = rng.below(order.len() as u64) as usize;
            let kept: Vec<Id> = order[..cut].iter().map(|verdict| id_of(verdict)).collect();
            let mut prefix = case.clone();
            prefix.facts.retain(|fact| kept.contains(&id(fact)));
            let reduced = prefix.reduce(&subject);
            if whole.made_by.is_some() && reduced.made_by.is_none() {
                continue; // The ticket itself came with the later scan; its rules hold from the start.
            }
            let deeds = |verdicts: &[&ScanVerdict]| verdicts.iter().map(|verdict| deed(verdict)).collect::<Vec<_>>();
            assert_eq!(deeds(&counted(&reduced).collect::<Vec<_>>()), deeds(&order[..cut]));
            assert_eq!(&whole.state.entries[..reduced.state.entries.len()], &reduced.state.entries[..]);
        }
    });
}

#[test]
fn refused_scans_change_no_count() {
    for_all(|_, History { case, .. }| {
        let contents = contents(&case);
        let mut open = case.clone();
        open.facts.retain(|fact| {
            fact.scan.kind == ScanKind::Revert
                || fact.opened()
                || contents[&id(fact)].len() > 1
                || case.facts.iter().any(|other| other.digest == fact.digest && other.opened())
        });
        for (subject, reduced) in case.reduce_all() {
            let without = open.reduce(&subject);
            assert_eq!(without.state, reduced.state);
            assert_eq!(without.effective, reduced.effective);
            assert_eq!(Occupancy::of(&without), Occupancy::of(&reduced));
        }
    });
}

#[test]
fn reverts_are_idempotent_and_their_own_time_and_device_play_no_part() {
    for_all(|rng, History { case, .. }| {
        let contents = contents(&case);
        let mut moved = case.clone();
        let at_times: Vec<Timestamp> = case.facts.iter().map(|fact| fact.scan.at).chain([at("12:00")]).collect();
        let mut twins = Vec::new();
        for fact in &case.facts {
            let reviewed = case.reviews.iter().any(|review| review.digest == fact.digest);
            if fact.scan.kind == ScanKind::Revert && contents[&id(fact)].len() == 1 && !reviewed && fact.proven() {
                let twin = Scanned::from(fact.clone()).with(|twin| {
                    twin.scan.device_id = crate::case::device("twin");
                    twin.scan.scan_id = crate::case::scan_id(&format!("{}-{}", fact.scan.device_id, fact.scan.scan_id));
                    twin.scan.at = *rng.pick(&at_times);
                });
                twins.push((fact.digest, twin.build()));
            }
        }
        let lost = |fact: &Fact| {
            let book = case.book();
            book.device(&fact.scan.device_id).is_some_and(|device| device.is_lost_at(fact.at()))
        };
        twins.retain(|(digest, _)| !case.facts.iter().any(|fact| fact.digest == *digest && lost(fact)));
        let mut twice = case.clone();
        twice.facts.extend(twins.iter().map(|(_, twin)| twin.clone()));
        moved.facts.retain(|fact| !twins.iter().any(|(digest, _)| fact.digest == *digest));
        moved.facts.extend(twins.into_iter().map(|(_, twin)| twin));
        for (subject, reduced) in case.reduce_all() {
            assert_eq!(twice.reduce(&subject).state, reduced.state, "a revert twice is a revert once");
            assert_eq!(moved.reduce(&subject).state, reduced.state, "from another device at another time too");
        }
    });
}

#[test]
fn within_and_over_are_the_persons_let_in_and_each_opened_entry_counts_whole() {
    for_all(|_, History { case, .. }| {
        for (_, reduced) in case.reduce_all() {
            for verdict in &reduced.verdicts {
                let (let_in, let_out) = (verdict.within + verdict.over, verdict.exited + verdict.exited_over);
                let counts = verdict.left_out.is_none() && verdict.opened;
                let expected = if counts { verdict.count } else { 0 };
                match verdict.kind {
                    ScanKind::Entry => assert_eq!((let_in, let_out), (expected, 0)),
                    ScanKind::Exit => assert_eq!((let_in, let_out), (0, expected)),
                    ScanKind::Revert | ScanKind::Headcount => assert_eq!((let_in, let_out), (0, 0)),
                }
                let persons = verdict.headcount.map_or(0, |headcount| headcount.persons());
                assert!(persons <= expected, "no more is counted than staff counted and nobody undid");
            }
            let sum = |of: fn(&ScanVerdict) -> u32| reduced.verdicts.iter().map(of).sum::<u32>();
            let TicketState { within, over, inside_within, inside_over, exited, ref entries } = reduced.state;
            assert_eq!((sum(|v| v.within), sum(|v| v.over), sum(|v| v.exited)), (within, over, exited));
            assert_eq!(within + over - exited, inside_within + inside_over);
            assert_eq!(within, entries.iter().map(|entry| entry.within).sum::<u32>());
            assert_eq!(over, entries.iter().map(|entry| entry.over).sum::<u32>());
        }
    });
}

#[test]
fn only_a_double_read_of_s2s_form_folds_an_opened_door_away() {
    for_all(|_, History { case, .. }| {
        let contents = contents(&case);
        for (_, reduced) in case.reduce_all() {
            for verdict in counted(&reduced) {
                let fact = case.facts.iter().find(|fact| verdict.is_of(fact)).unwrap();
                if verdict.opened || fact.scan.stage == Stage::Claim || !fact.scan.opened {
                    continue;
                }
                assert_eq!((fact.scan.form, contents[&id(fact)].is_empty()), (Form::S2, false));
                assert_eq!(verdict.conflict_reason, Some(ConflictReason::DuplicateScan));
            }
        }
    });
}

/// Persons inside within the limit, before and after each scan, in order.
fn inside_within(reduced: &Reduced) -> Vec<u32> {
    let (mut within, mut over) = (0, 0);
    let mut steps = vec![0];
    for verdict in counted(reduced) {
        within += verdict.within;
        over += verdict.over;
        let of_over = verdict.exited.min(over);
        over -= of_over;
        within -= verdict.exited - of_over;
        steps.push(within);
    }
    steps
}

#[test]
fn with_a_constant_limit_each_mode_keeps_its_promise() {
    for_all(|_, History { case, mode, constant }| {
        if !constant {
            return;
        }
        for (subject, reduced) in case.reduce_all() {
            let first = case.rules.iter().find_map(|rule| match &rule.change {
                Change::Ticket(of, TicketChange::First(first)) if Some(of) == subject.ticket_id() => Some(first),
                _ => None,
            });
            let Some(limit) = first.map(|first| first.entry_limit) else { continue };
            match mode {
                ReEntry::Never => assert_eq!(reduced.state.within, limit.min(reduced.state.persons())),
                ReEntry::AfterExit => {
                    assert!(inside_within(&reduced).iter().all(|inside| *inside <= limit));
                    assert_eq!(inside_within(&reduced).last(), Some(&reduced.state.inside_within));
                }
                ReEntry::AfterGap => {
                    for end in &reduced.state.entries {
                        let in_window = reduced
                            .state
                            .entries
                            .iter()
                            .filter(|entry| entry.at <= end.at && entry.at.ms() > end.at.ms() - 300_000);
                        assert!(in_window.map(|entry| entry.within).sum::<u32>() <= limit);
                    }
                }
                ReEntry::Daily => {
                    let days = case.book().event(When::Newest).unwrap().days;
                    let entries = &reduced.state.entries;
                    for day in 0..=days.begin().len() {
                        let of_day = entries.iter().filter(|entry| days.of(entry.at) == day);
                        assert!(of_day.map(|entry| entry.within).sum::<u32>() <= limit);
                    }
                }
            }
            // Nobody counts as over while a place was free. A person is over only if every place is taken.
            if mode == ReEntry::Never && reduced.state.over > 0 {
                assert_eq!(reduced.state.within, limit);
            }
        }
    });
}

/// Decision 034: a practice scan that nobody accepted changes nothing, except for causes that a person must look at.
#[test]
fn practice_that_nobody_accepted_counts_nothing() {
    for_all(|_, History { case, .. }| {
        let accepted = |fact: &Fact| {
            let of_fact = case.reviews.iter().filter(|review| review.digest == fact.digest);
            of_fact.max_by_key(|review| review.serial).is_some_and(|review| review.decision == Decision::Accept)
        };
        let mut without = case.clone();
        let practices = |fact: &Fact| fact.scan.practice && !accepted(fact);
        // Leaves out scans with another content under the same id. Another property says which content is taken.
        let alone = |fact: &Fact| {
            let same = |other: &&Fact| {
                (&other.scan.device_id, &other.scan.scan_id) == (&fact.scan.device_id, &fact.scan.scan_id)
            };
            case.facts.iter().filter(same).all(|other| other.digest == fact.digest)
        };
        without.facts.retain(|fact| !(practices(fact) && alone(fact)));
        let subjects: BTreeMap<Subject, Reduced> = without.reduce_all().into_iter().collect();
        for (subject, reduced) in case.reduce_all() {
            let plain = subjects.get(&subject).cloned().unwrap_or_default();
            assert_eq!((&reduced.state, &reduced.effective), (&plain.state, &plain.effective));
            assert_eq!(counted(&reduced).collect::<Vec<_>>(), counted(&plain).collect::<Vec<_>>());
        }
    });
}

#[test]
fn the_order_is_strict_and_total_and_uses_no_arrival_data() {
    for_all(|rng, History { case, .. }| {
        let all = case.reduce_all();
        for (_, reduced) in &all {
            let key = |v: &ScanVerdict| (v.implausible, v.at, v.device_id.clone(), v.scan_id.clone());
            let keys: Vec<_> = counted(reduced).map(key).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "strictly rising: {keys:?}");
        }
        let mut later = case.clone();
        for fact in &mut later.facts {
            fact.received_at = at("10:00").plus_ms(rng.below(100_000_000) as i64);
            if fact.signature != SignatureState::Unverified {
                fact.signature = *rng.pick(&[SignatureState::Verified, SignatureState::Bearer]);
            }
        }
        for ((_, one), (_, other)) in all.iter().zip(later.reduce_all()) {
            assert_eq!((&one.state, &one.verdicts, &one.effective), (&other.state, &other.verdicts, &other.effective));
            let not_of_receipt = |reduced: &Reduced| {
                let of_receipt = [IncidentKind::FutureTime, IncidentKind::ClockSuspect];
                reduced.causes.iter().filter(|cause| !of_receipt.contains(&cause.kind)).cloned().collect::<Vec<_>>()
            };
            assert_eq!(not_of_receipt(one), not_of_receipt(&other));
        }
    });
}

#[test]
fn occupancy_of_the_parts_is_that_of_the_whole_and_deltas_take_back_what_they_added() {
    for_all(|rng, History { case, .. }| {
        let parts: Vec<Occupancy> = case.reduce_all().iter().map(|(_, reduced)| Occupancy::of(reduced)).collect();
        let mut whole = Occupancy::default();
        parts.iter().for_each(|part| whole.add(part, 1));
        let entered: i64 = whole.gates.values().map(|flow| flow.entered).sum();
        let exited: i64 = whole.gates.values().map(|flow| flow.exited).sum();
        assert_eq!((entered, exited), (whole.entered + whole.over, whole.exited));
        assert_eq!(entered - exited, whole.inside + whole.inside_over);
        assert!(whole.inside >= 0 && whole.inside_over >= 0 && whole.inside_over <= whole.over);
        // After each scan the server adds a subject's new counters and takes off those that it had stored. If all
        // subjects are taken off again, nothing is left.
        let mut grown = Occupancy::default();
        let (mut some, mut stored) = (Case { facts: vec![], ..case.clone() }, BTreeMap::new());
        let mut facts = case.facts.clone();
        rng.shuffle(&mut facts);
        for fact in facts {
            some.facts.push(fact);
            for (subject, reduced) in some.reduce_all() {
                let now = Occupancy::of(&reduced);
                grown.add(&now, 1);
                if let Some(before) = stored.insert(subject, now) {
                    grown.add(&before, -1);
                }
            }
        }
        assert_eq!(grown, whole);
        rng.shuffle(&mut stored.values().cloned().collect::<Vec<_>>());
        stored.values().for_each(|part| grown.add(part, -1));
        assert_eq!(grown, Occupancy::default());
    });
}

#[test]
fn a_restore_equals_no_review() {
    for_all(|rng, History { case, .. }| {
        if case.facts.is_empty() {
            return;
        }
        let fact = rng.pick(&case.facts).clone();
        let about = |review: &Review| {
            (&review.device_id, &review.scan_id, review.digest)
                == (&fact.scan.device_id, &fact.scan.scan_id, fact.digest)
        };
        let mut restored = case.clone();
        let (device, scan) = (fact.scan.device_id.as_str(), fact.scan.scan_id.as_str());
        let serial = case.serial + 1;
        restored = restored.review(device, scan, Decision::Restore);
        let review = restored.reviews.last_mut().unwrap();
        (review.digest, review.serial) = (fact.digest, serial);
        let mut never = case;
        never.reviews.retain(|review| !about(review));
        assert_eq!(restored.reduce_all(), never.reduce_all());
    });
}

#[test]
fn nothing_but_exclude_and_reverts_un_counts_a_person() {
    for_all(|rng, History { mut case, .. }| {
        // The remaining rules and reviews can take proof away (restore of an accept, `lost_since`), or make one scan
        // another (several contents under one id). Those have examples of their own.
        case.reviews.retain(|review| review.decision == Decision::Accept);
        case.rules.retain(|rule| !matches!(rule.change, Change::Device(..)));
        let contents = contents(&case);
        case.facts.retain(|fact| contents[&id(fact)].len() == 1 && fact.scan.kind != ScanKind::Revert);
        let v1 = |fact: &Fact| fact.scan.form == Form::V1;
        let s2 = |fact: &Fact| fact.scan.form == Form::S2;
        // Whether a scan in S2's form is a double read depends on rules and on a corrected time. A later scan never
        // undoes it.
        let more_rules = !case.facts.iter().any(s2);
        rng.shuffle(&mut case.facts);
        let mut before = 0;
        let mut some = Case { facts: vec![], reviews: vec![], ..case.clone() };
        for fact in &case.facts {
            let known = some.facts.iter().any(|other| other.digest == fact.digest);
            some.facts.push(fact.clone());
            if known && v1(fact) && !more_rules {
                before = 0;
            }
            let now = persons(&some.reduce_all());
            assert!(now >= before, "a fact un-counted {} persons", before - now);
            before = now;
        }
        for review in &case.reviews {
            some.reviews.push(review.clone());
            let now = persons(&some.reduce_all());
            assert!(now >= before, "an accept un-counted a person");
            before = now;
        }
        if more_rules {
            let limit = TicketChange::EntryLimit(rng.below(3) as u32);
            let change = Change::Ticket(crate::case::ticket_id("t"), limit);
            some.rule(Effective::Start, change);
            assert_eq!(persons(&some.reduce_all()), before, "a rule moves persons between within and over, no more");
        }
    });
}

/// The finding of a cause, without how it was reached.
fn found(cause: &Cause) -> String {
    let scans: Vec<_> = cause
        .scans
        .iter()
        .map(|scan| {
            (&scan.device_id, &scan.scan_id, scan.digest, scan.role, scan.at, scan.within, scan.over, scan.reason)
        })
        .collect();
    format!("{:?} {:?} {} {scans:?}", cause.kind, cause.subject, cause.order_uncertain)
}

#[test]
fn cause_digests_are_equal_iff_what_was_found_is_equal() {
    let seen = std::cell::RefCell::new((BTreeMap::new(), BTreeMap::new()));
    for_all(|rng, History { case, .. }| {
        let mut fewer = case.clone();
        if !fewer.facts.is_empty() {
            let gone = rng.below(fewer.facts.len() as u64) as usize;
            fewer.facts.remove(gone);
        }
        let (mut by_digest, mut by_found) = (BTreeMap::new(), BTreeMap::new());
        for (_, reduced) in case.reduce_all().into_iter().chain(fewer.reduce_all()) {
            for cause in &reduced.causes {
                let (digest, found) = (cause.digest(), found(cause));
                assert_eq!(by_digest.entry(digest).or_insert_with(|| found.clone()), &found);
                assert_eq!(by_found.entry(found).or_insert(digest), &digest);
            }
        }
        // The first 20,000 digests are also compared across histories.
        let (all_digests, all_found) = &mut *seen.borrow_mut();
        if all_digests.len() < 20_000 {
            for (digest, found) in by_digest {
                assert_eq!(all_digests.entry(digest).or_insert_with(|| found.clone()), &found);
                assert_eq!(all_found.entry(found).or_insert(digest), &digest);
            }
        }
    });
}

#[test]
fn a_double_entry_names_both_sides() {
    for_all(|_, History { case, .. }| {
        for (_, reduced) in case.reduce_all() {
            let doubles = counted(&reduced).filter(|v| v.conflict_reason == Some(ConflictReason::DoubleEntry));
            for double in doubles {
                assert!(double.over > 0 && double.conflict);
                let cause = reduced.causes.iter().find(|cause| cause.kind == IncidentKind::DoubleEntry).unwrap();
                let this = |scan: &&CauseScan| (&scan.device_id, &scan.scan_id) == (&double.device_id, &double.scan_id);
                assert_eq!(cause.scans.iter().find(this).map(|scan| scan.over), Some(double.over));
                // The other side of the conflict is within the limit, unless a change lowered the limit to nothing.
                let winner = reduced.verdicts.iter().any(|v| v.conflict && v.within > 0 && v.kind == ScanKind::Entry);
                let lowered = reduced.state.within == 0 || double.within > 0;
                assert!(winner || lowered || !case.rules.iter().all(|rule| rule.effective_at == Effective::Start));
            }
            for verdict in counted(&reduced).filter(|v| v.conflict && v.conflict_reason.is_none()) {
                assert!(verdict.within > 0, "only who took a place is the other side");
            }
        }
    });
}

#[test]
fn contents_that_were_not_taken_change_nothing_but_the_incident() {
    for_all(|rng, History { case, .. }| {
        let taken: Vec<_> = case.reduce_all().iter().flat_map(|(_, r)| r.verdicts.clone()).collect();
        let beside: Vec<usize> = (0..case.facts.len())
            .filter(|i| !taken.iter().any(|verdict| verdict.is_of(&case.facts[*i])))
            .filter(|i| case.facts[*i].judged.is_none())
            .collect();
        if beside.is_empty() {
            return;
        }
        let mut without = case.clone();
        without.facts.remove(*rng.pick(&beside));
        // A verdict names its content only as long as the id has another one.
        let unnamed = |one: ScanVerdict| ScanVerdict { digest: None, ..one };
        let unnamed = |all: Vec<_>| all.into_iter().map(unnamed).collect::<Vec<_>>();
        for (subject, reduced) in case.reduce_all() {
            let other = without.reduce(&subject);
            assert_eq!((other.state, unnamed(other.verdicts)), (reduced.state, unnamed(reduced.verdicts)));
        }
    });
}

#[test]
fn a_verdict_names_its_content_only_where_that_is_in_doubt() {
    for_all(|_, History { case, .. }| {
        let contents = contents(&case);
        for verdict in case.reduce_all().iter().flat_map(|(_, reduced)| &reduced.verdicts) {
            let (of_id, digest) = (&contents[&id_of(verdict)], verdict.digest.as_ref());
            assert_eq!(digest.is_some(), of_id.len() > 1 || verdict.left_out.is_some());
            assert!(digest.is_none_or(|digest| of_id.contains(&digest.0)));
        }
    });
}

#[test]
fn a_devices_view_by_the_newest_rules_is_the_fold_with_every_rule_from_the_start() {
    for_all(|_, History { mut case, .. }| {
        let subjects = case.subjects();
        let newest: Vec<_> = subjects.iter().map(|subject| case.reduce_as(subject, true)).collect();
        case.rules.iter_mut().for_each(|rule| rule.effective_at = Effective::Start);
        for (subject, newest) in subjects.iter().zip(newest) {
            let mut from_start = case.reduce(subject);
            from_start.verdicts.iter_mut().for_each(|verdict| verdict.basis_mismatch = false);
            assert_eq!(newest, from_start);
        }
    });
}

#[test]
fn a_rule_that_neither_holds_yet_nor_was_known_changes_no_verdict() {
    for_all(|_, History { mut case, .. }| {
        let before = case.reduce_all();
        let after_all = Timestamp::clamped(at("0:00").ms() + 400 * 86_400_000);
        case.serial += 10; // Beyond what any device claims to know.
        for change in [
            Change::Ticket(crate::case::ticket_id("t"), TicketChange::EntryLimit(0)),
            Change::Event(EventChange::ReEntry(ReEntry::AfterExit)),
        ] {
            case.rule(Effective::At(after_all), change);
        }
        assert_eq!(case.reduce_all(), before);
    });
}
