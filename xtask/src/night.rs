//! `cargo xtask sim-night`: runs the simulator at every level in turn, with new seeds, for a given time, and writes a
//! report. A rare path that was never reached is a failure, as a broken promise is.

use crate::product::simulator;
use crate::{exec, markdown};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A level on a store, and its share of the time in percent.
struct Part {
    name: &'static str,
    level: &'static str,
    store: &'static str,
    share: f64,
}

const PARTS: [Part; 4] = [
    Part { name: "L0", level: "0", store: "sqlite", share: 25.0 },
    Part { name: "L1", level: "1", store: "sqlite", share: 35.0 },
    Part { name: "L2 on SQLite", level: "2", store: "sqlite", share: 20.0 },
    Part { name: "L2 on PostgreSQL", level: "2", store: "postgres", share: 20.0 },
];

/// The duration of a night in minutes, unless the caller gives another.
pub const MINUTES: f64 = 240.0;
/// How much longer than its set time a part may run, to finish the seeds that it began.
const PATIENCE: Duration = Duration::from_secs(600);

/// Builds with `profile`, runs all parts for `minutes` in total with the seeds from `from` on, and writes the report.
pub fn run(minutes: f64, from: Option<u64>, profile: &str) -> Result<()> {
    let mut build = exec::cargo();
    build.args(["build", "--locked", "--profile", profile, "-p", "admit", "-p", "admit-store-postgres"]);
    exec::run(build.args(["--bin", "admit", "--example", "private"]))?;
    let (programs, folder) = (exec::root().join("target").join(profile), exec::root().join("target/sim"));
    std::fs::create_dir_all(&folder)?;
    // The first seed is a thousand times the present second since 1970, so no earlier night ran it.
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() * 1_000;
    let from = from.unwrap_or(fresh);
    println!("\nseeds from {from} on");
    let mut nights = Vec::new();
    for part in &PARTS {
        let minutes = minutes * part.share / 100.0;
        println!("\n── {}, {minutes:.1} minutes", part.name);
        nights.push(run_part(part, minutes, from, &programs, &folder)?);
    }
    let report = report(&nights, from)?;
    std::fs::write(folder.join("night.md"), &report)?;
    std::fs::write(folder.join("night.json"), format!("{:#}\n", Value::from(nights.clone())))?;
    println!("\n{report}\nwritten to {}", folder.join("night.md").display());
    let wrong = wrong(&nights);
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// Runs a part, and returns the result that the simulator wrote.
fn run_part(part: &Part, minutes: f64, from: u64, programs: &Path, folder: &Path) -> Result<Value> {
    let written = folder.join(format!("level{}-{}.json", part.level, part.store));
    let _ = std::fs::remove_file(&written);
    let mut command = simulator(programs, part.level, part.store);
    command.args(["--from", &from.to_string(), "--minutes", &minutes.to_string(), "--json"]).arg(&written);
    // A broken promise makes the simulator fail. It is also in the result, so this error is ignored, and the other
    // parts still run.
    let ended = exec::run_within(&mut command, Duration::from_secs_f64(minutes * 60.0) + PATIENCE);
    let text = match std::fs::read_to_string(&written) {
        Ok(text) => text,
        Err(error) => return ended.and(Err(error.into())).with_context(|| part.name.to_owned()),
    };
    serde_json::from_str(&text).with_context(|| written.display().to_string())
}

fn count(night: &Value, name: &str) -> u64 {
    night[name].as_u64().unwrap_or_default()
}

fn list<'a>(night: &'a Value, name: &str) -> &'a [Value] {
    night[name].as_array().map_or(&[], Vec::as_slice)
}

/// Everything that makes the night a failure.
fn wrong(nights: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (Part { name, .. }, night) in PARTS.iter().zip(nights) {
        if count(night, "new_seeds") == 0 {
            wrong.push(format!("{name}: no new seed was run"));
        }
        // A part without a result counts as failed.
        let failures = night["failures"].as_u64().unwrap_or(u64::MAX);
        if failures > 0 {
            wrong.push(format!("{name}: {failures} seeds broke a promise"));
        }
        let never = list(night, "never_reached").iter();
        wrong.extend(never.map(|path| format!("{name}: never reached: {}", path.as_str().unwrap_or("?"))));
    }
    wrong
}

/// The report, for people.
fn report(nights: &[Value], from: u64) -> Result<String> {
    let names = |of: &str| {
        let counted = nights.iter().filter_map(|night| night[of].as_object()).flat_map(|map| map.keys());
        let mut names = BTreeSet::from_iter(counted.map(String::as_str));
        // Names of rare paths that no seed reached are included.
        let never = nights.iter().filter(|_| of == "reached").flat_map(|night| list(night, "never_reached"));
        names.extend(never.filter_map(Value::as_str));
        let mut names = Vec::from_iter(names);
        // Shorter names come first, so that I9 is before I10.
        names.sort_by_key(|name| name.len().min(3));
        names
    };
    let tables = [
        ("Faults injected and rare paths reached", "reached", names("reached")),
        ("Invariants, and how often each was looked at", "checked", names("checked")),
    ];
    let parts: Vec<(&str, &Value)> = PARTS.iter().map(|part| part.name).zip(nights).collect();
    markdown::rendered(
        include_str!("night.md.jinja"),
        &json!({ "from": from, "parts": parts, "tables": tables, "wrong": wrong(nights) }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_leaves_nothing_out_and_a_path_never_reached_is_a_failure() {
        let night = json!({
            "seeds": 10, "new_seeds": 10, "seconds": 2.0, "seeds_per_second": 5.0, "failures": 0,
            "reached": { "sleep": 7 }, "checked": { "I10": 9, "I9": 8 },
        });
        let mut bad = night.clone();
        bad["failures"] = json!(1);
        bad["never_reached"] = json!(["equal times"]);
        bad["violations"] = json!([{ "invariant": "I2", "what": "lost", "repeat": "admit simulate --from 4" }]);
        let nights = [night.clone(), bad, night.clone(), json!({})];
        let expected = ["L1: 1 seeds broke a promise", "L1: never reached: equal times"];
        assert_eq!(wrong(&nights[..3]), expected);
        assert_eq!(wrong(&nights).len(), 4, "a part that wrote nothing did nothing");
        let report = report(&nights, 40).unwrap();
        let parts =
            ["from 40", "| L1 | 10 | 2 | 5.0 | 1 |", "| sleep | 7 |", "| equal times | 0 |", "lost  \n  `admit"];
        for part in parts.into_iter().chain(expected) {
            assert!(report.contains(part), "{part}:\n{report}");
        }
        assert!(report.find("| I9 |") < report.find("| I10 |"));
        assert_eq!(PARTS.iter().map(|part| part.share).sum::<f64>(), 100.0);
    }
}
