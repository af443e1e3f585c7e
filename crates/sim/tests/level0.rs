//! Level 0 keeps its invariants on regression seeds and on new seeds, and the same seed gives the same run.
//! `ADMIT_SIM_SEEDS` sets the number of new seeds, `ADMIT_SIM_FROM` the first.

use admit_sim::{Options, regressions, run, run_seed};

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |text| text.parse().expect("a whole number"))
}

#[test]
fn seeds_that_once_broke_a_promise_keep_it() {
    for seed in regressions(0) {
        let outcome = run_seed(0, seed, &Options { thorough: true, ..Options::default() });
        assert!(outcome.violations.is_empty(), "{outcome}");
    }
}

#[test]
fn no_seed_breaks_a_promise() {
    let report = run(0, number("ADMIT_SIM_FROM", 0), number("ADMIT_SIM_SEEDS", 2_000), 2, &Options::default());
    assert_eq!(report.failures, 0, "{report}");
    assert!(report.unreached().is_empty(), "never reached: {:?}", report.unreached());
    println!("{report}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in [1, 7, 40] {
        let options = Options { keep_trace: true, ..Options::default() };
        let (first, second) = (run_seed(0, seed, &options), run_seed(0, seed, &options));
        assert_eq!(first.trace, second.trace);
        assert_eq!((first.trace_hash, first.coverage), (second.trace_hash, second.coverage));
        assert!(first.trace.len() > 50, "something happened");
    }
}
