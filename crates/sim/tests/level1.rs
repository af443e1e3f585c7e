//! Level 1, the real use cases on SQLite in memory, keeps its invariants. `ADMIT_SIM_L1_SEEDS` sets the number of new
//! seeds, `ADMIT_SIM_FROM` the first.

use admit_sim::coverage::WITH_A_STORE;
use admit_sim::{Options, regressions, run, run_seed};

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |text| text.parse().expect("a whole number"))
}

#[test]
fn seeds_that_once_broke_a_promise_keep_it() {
    for seed in regressions(1) {
        let outcome = run_seed(1, seed, &Options { thorough: true, ..Options::default() });
        assert!(outcome.violations.is_empty(), "{outcome}");
    }
}

#[test]
fn no_seed_breaks_a_promise() {
    let report = run(1, number("ADMIT_SIM_FROM", 0), number("ADMIT_SIM_L1_SEEDS", 1_000), 2, &Options::default());
    assert_eq!(report.failures, 0, "{report}");
    let never: Vec<&str> = WITH_A_STORE.iter().copied().filter(|name| report.coverage.get(name) == 0).collect();
    assert!(never.is_empty(), "never reached: {never:?}");
    println!("{report}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let options = Options { keep_trace: true, ..Options::default() };
    // The first of these seeds has an office.
    for seed in [8, 11] {
        let (first, second) = (run_seed(1, seed, &options), run_seed(1, seed, &options));
        assert_eq!(first.trace, second.trace);
        assert!(first.trace.len() > 50, "something happened");
    }
}
