//! The checkers find every planted bug, which proves that they can fail (trust §3 "Mutants").

use admit_sim::mutants::Mutant;
use admit_sim::{Options, run_seed};

/// The number of seeds that are tried for each bug.
const SEEDS: u64 = 600;

#[test]
fn no_planted_bug_survives() {
    let survivors: Vec<&str> = Mutant::ALL
        .iter()
        .filter(|mutant| {
            let options = Options { mutant: Some(**mutant), ..Options::default() };
            let killed = (0..SEEDS).find_map(|seed| {
                let found = run_seed(mutant.level(), seed, &options)
                    .violations
                    .into_iter()
                    .find(|it| mutant.breaks(it.invariant))?;
                Some((found.invariant, seed + 1))
            });
            match killed {
                Some((invariant, seeds)) => println!("{:<24} killed by {invariant} after {seeds} seeds", mutant.word()),
                None => println!("{:<24} survives {SEEDS} seeds", mutant.word()),
            }
            killed.is_none()
        })
        .map(|mutant| mutant.word())
        .collect();
    assert!(survivors.is_empty(), "not found in {SEEDS} seeds: {survivors:?}");
}
