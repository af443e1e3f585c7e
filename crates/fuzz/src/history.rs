//! Fuzz target: checks the properties of `reduce` on histories that the fuzzer generates.

use admit_core::incident::Subject;
use admit_core::reduce::{Reduced, ScanVerdict, TicketState, merge_deliveries};
use admit_core::scan::{Fact, ScanKind};

use crate::case::Case;
use crate::generator::{History, Rng, history_of};

/// The last bytes choose how facts are shuffled; the others choose the history.
pub fn reduce(bytes: &[u8]) {
    let (made, shuffled) = bytes.split_at(bytes.len() - bytes.len().min(16) / 2);
    let History { case, .. } = history_of(Rng::of_bytes(made));
    let mut rng = Rng::of_bytes(shuffled);
    let whole = case.reduce_all();
    for (subject, reduced) in &whole {
        sums(reduced);
        folds_on(&case, subject, reduced, &mut rng);
    }
    assert_eq!(repeated(case.clone(), &mut rng).reduce_all(), whole, "order and repetition change nothing");
    assert_eq!(delivered(case, &mut rng).reduce_all(), whole, "batches change nothing");
}

/// Checks I8: `within` plus `over` are the persons let in, whether summed over the state, the entries or the verdicts.
fn sums(reduced: &Reduced) {
    let TicketState { within, over, inside_within, inside_over, exited, ref entries } = reduced.state;
    let sum = |of: fn(&ScanVerdict) -> u32| reduced.verdicts.iter().map(of).sum::<u32>();
    assert_eq!((sum(|v| v.within), sum(|v| v.over), sum(|v| v.exited)), (within, over, exited));
    assert_eq!(within + over - exited, inside_within + inside_over);
    assert_eq!(within, entries.iter().map(|entry| entry.within).sum::<u32>());
    assert_eq!(over, entries.iter().map(|entry| entry.over).sum::<u32>());
    for verdict in &reduced.verdicts {
        let through_a_door = matches!(verdict.kind, ScanKind::Entry | ScanKind::Exit);
        let counts = verdict.left_out.is_none() && verdict.opened && through_a_door;
        let moved = verdict.within + verdict.over + verdict.exited + verdict.exited_over;
        assert_eq!(moved, if counts { verdict.count } else { 0 }, "an opened door counts whole");
    }
}

/// Checks that reducing only the first scans gives the same first entries as reducing all scans.
fn folds_on(case: &Case, subject: &Subject, whole: &Reduced, rng: &mut Rng) {
    let order: Vec<&ScanVerdict> = whole.verdicts.iter().filter(|verdict| verdict.left_out.is_none()).collect();
    // A revert changes earlier entries. When one arrives, the store reduces all scans again, so nothing is checked
    // here.
    if order.is_empty() || order.iter().any(|verdict| verdict.kind == ScanKind::Revert) {
        return;
    }
    let kept = &order[..rng.below(order.len() as u64) as usize];
    let mut prefix = case.clone();
    let is_kept =
        |fact: &Fact| kept.iter().any(|it| it.device_id == fact.scan.device_id && it.scan_id == fact.scan.scan_id);
    prefix.facts.retain(is_kept);
    let before = prefix.reduce(subject).state.entries;
    assert_eq!(whole.state.entries[..before.len()], before[..]);
}

fn repeated(mut case: Case, rng: &mut Rng) -> Case {
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
    case
}

/// The history with one row per content, into which all its deliveries are merged.
fn delivered(mut case: Case, rng: &mut Rng) -> Case {
    rng.shuffle(&mut case.facts);
    let mut rows: Vec<Fact> = Vec::new();
    for fact in std::mem::take(&mut case.facts) {
        let same = |row: &&mut Fact| {
            (&row.scan.device_id, &row.scan.scan_id, row.digest)
                == (&fact.scan.device_id, &fact.scan.scan_id, fact.digest)
        };
        match rows.iter_mut().find(same) {
            Some(row) => merge_deliveries(row, &fact),
            None => rows.push(fact),
        }
    }
    case.facts = rows;
    case
}

/// Random bytes of several lengths. The fuzzer finds short histories soon, but not long ones.
pub fn seeds() -> Vec<Vec<u8>> {
    let drawn = |seed: u64, length: usize| {
        let mut rng = Rng::new(seed);
        (0..length).map(|_| rng.below(256) as u8).collect()
    };
    (0..16).map(|seed| drawn(seed, 64 << (seed % 4))).collect()
}
