//! The result of a run of the simulator as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use admit_sim::Report;
use serde_json::{Value, json};

/// The report as a JSON object: seeds and time, which rare paths were reached and which never, what was checked, and
/// each violation with the command that repeats it.
pub fn json(report: &Report, store: &str, from: u64, kept: usize, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let reached: BTreeMap<&str, u64> = report.coverage.iter().collect();
    let checked: BTreeMap<&str, u64> = report.checked.iter().collect();
    let violations = report.failed.iter().flat_map(|outcome| {
        let level = report.level;
        let store = if store == "none" { String::new() } else { format!(" --store {store}") };
        let repeat = format!("admit simulate --level {level}{store} --seeds 1 --from {} --trace", outcome.seed);
        outcome.violations.iter().map(move |violation| {
            json!({ "seed": outcome.seed, "invariant": violation.invariant, "what": violation.what, "repeat": repeat })
        })
    });
    let violations: Vec<Value> = violations.collect();
    let value = json!({
        "level": report.level,
        "store": store,
        "from": from,
        "seeds": report.seeds,
        "new_seeds": report.seeds.saturating_sub(kept as u64),
        "seconds": seconds,
        "seeds_per_second": report.seeds as f64 / seconds,
        "failures": report.failures,
        "violations": violations,
        "reached": reached,
        "never_reached": report.unreached(),
        "checked": checked,
    });
    format!("{value:#}\n")
}
