//! `cargo xtask sim-night`: the simulator at every level in turn, with new seeds, for the given time. Its report names
//! every count. A rare path that was never reached fails the night, as a broken promise does.

use crate::exec;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A level of the simulator on one store, and its share of the time in percent.
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

/// The counted names that are faults, such as a crash. The other counted names are rare paths that faults led to.
const FAULTS: [&str; 22] = [
    "answer cut short",
    "answer lost on the way",
    "append failed",
    "cached body lost",
    "captive portal",
    "clock set back",
    "clock set forward",
    "crash with an append under way",
    "crash with unsent scans",
    "died inside a transaction",
    "forged scan",
    "old list replayed",
    "phone out of reach",
    "request arrived twice",
    "request lost on the way",
    "restore",
    "revoked with unsent scans",
    "rule changed for a scanned ticket",
    "server killed",
    "server said later",
    "sleep",
    "storage cleared with unsent scans",
];

/// The length of a night in minutes, unless `--minutes` gives another.
const MINUTES: f64 = 240.0;
/// How much longer a part may run, to finish the seeds that it began.
const PATIENCE: Duration = Duration::from_secs(600);

struct Asked {
    minutes: f64,
    from: Option<u64>,
    profile: String,
}

/// `sim-night [--minutes N] [--from SEED] [--profile NAME]`: runs all parts and writes the report.
pub fn command(args: &[String]) -> Result<()> {
    let Asked { minutes, from, profile } = asked(args)?;
    let mut build = exec::cargo();
    build.args(["build", "--locked", "--profile", &profile, "-p", "admit", "-p", "admit-store-postgres"]);
    exec::run(build.args(["--bin", "admit", "--example", "private"]))?;
    let programs = exec::root().join("target").join(&profile);
    let folder = exec::root().join("target/sim");
    std::fs::create_dir_all(&folder)?;
    let from = match from {
        Some(from) => from,
        None => fresh()?,
    };
    println!("\nseeds from {from} on");
    let mut nights = Vec::new();
    for part in &PARTS {
        println!("\n── {}, {:.1} minutes", part.name, minutes * part.share / 100.0);
        nights.push(run(part, minutes, from, &programs, &folder)?);
    }
    let report = report(&nights, from);
    std::fs::write(folder.join("night.md"), &report)?;
    std::fs::write(folder.join("night.json"), format!("{:#}\n", Value::from(nights.clone())))?;
    println!("\n{report}\nwritten to {}", folder.join("night.md").display());
    let wrong: Vec<String> = PARTS.iter().zip(&nights).flat_map(|(part, night)| wrong(part.name, night)).collect();
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn asked(args: &[String]) -> Result<Asked> {
    let mut asked = Asked { minutes: MINUTES, from: None, profile: "proof".to_owned() };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = rest.next().with_context(|| format!("{arg} wants a value"))?;
        match arg.as_str() {
            "--minutes" => asked.minutes = value.parse().context("--minutes N")?,
            "--from" => asked.from = Some(value.parse().context("--from SEED")?),
            "--profile" => asked.profile.clone_from(value),
            other => bail!("there is no {other}: sim-night [--minutes N] [--from SEED] [--profile NAME]"),
        }
    }
    Ok(asked)
}

/// A first seed that no earlier night used: the time in seconds since 1970, times 1,000.
fn fresh() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() * 1_000)
}

/// Runs one part and gives the result that the simulator wrote.
fn run(part: &Part, minutes: f64, from: u64, programs: &Path, folder: &Path) -> Result<Value> {
    let written: PathBuf = folder.join(format!("level{}-{}.json", part.level, part.store));
    if written.exists() {
        std::fs::remove_file(&written)?;
    }
    let minutes = minutes * part.share / 100.0;
    let admit = programs.join("admit");
    let mut command = if part.store == "postgres" {
        let mut command = exec::command(programs.join("examples/private"));
        command.arg(admit);
        command
    } else {
        exec::command(admit)
    };
    command.args(["simulate", "--level", part.level, "--store", part.store, "--from", &from.to_string()]);
    command.args(["--minutes", &minutes.to_string(), "--json"]).arg(&written);
    // If a promise was broken, the written result says so. Only this part ends.
    let ended = exec::run_within(&mut command, Duration::from_secs_f64(minutes * 60.0) + PATIENCE);
    let text = match std::fs::read_to_string(&written) {
        Ok(text) => text,
        Err(error) => return ended.and(Err(error.into())).with_context(|| part.name.to_owned()),
    };
    serde_json::from_str(&text).with_context(|| written.display().to_string())
}

fn count(night: &Value, of: &str, name: &str) -> u64 {
    night[of][name].as_u64().unwrap_or(0)
}

/// The reasons for which a part fails the night.
fn wrong(name: &str, night: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if night["new_seeds"].as_u64().unwrap_or(0) == 0 {
        wrong.push(format!("{name}: no new seed was run"));
    }
    let failures = night["failures"].as_u64().unwrap_or(u64::MAX);
    if failures > 0 {
        wrong.push(format!("{name}: {failures} seeds broke a promise"));
    }
    let never = night["never_reached"].as_array().into_iter().flatten();
    wrong.extend(never.map(|path| format!("{name}: never reached: {}", path.as_str().unwrap_or("?"))));
    wrong
}

/// The report in Markdown.
fn report(nights: &[Value], from: u64) -> String {
    let mut out = format!("# A night of the simulator\n\nSeeds from {from} on, after those kept as regressions.\n\n");
    let figure = |night: &Value, name: &str| night[name].as_f64().unwrap_or(0.0);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "| | seeds | seconds | seeds/s | with a violation |\n| --- | ---: | ---: | ---: | ---: |");
    for (part, night) in PARTS.iter().zip(nights) {
        let (seeds, failures) = (count_of(night, "seeds"), count_of(night, "failures"));
        let (seconds, rate) = (figure(night, "seconds"), figure(night, "seeds_per_second"));
        let _ = writeln!(out, "| {} | {seeds} | {seconds:.0} | {rate:.1} | {failures} |", part.name);
    }
    let reached = names(nights, "reached");
    let (faults, paths): (Vec<&String>, Vec<&String>) =
        reached.iter().partition(|name| FAULTS.contains(&name.as_str()));
    table(&mut out, "Faults injected", nights, "reached", &faults);
    table(&mut out, "Rare paths reached", nights, "reached", &paths);
    table(
        &mut out,
        "Invariants, and how often each was looked at",
        nights,
        "checked",
        &names(nights, "checked").iter().collect::<Vec<_>>(),
    );
    out.push_str("\n## What went wrong\n\n");
    let all: Vec<String> = PARTS.iter().zip(nights).flat_map(|(part, night)| wrong(part.name, night)).collect();
    if all.is_empty() {
        out.push_str("Nothing.\n");
    }
    for line in all {
        let _ = writeln!(out, "- {line}");
    }
    for night in nights {
        for violation in night["violations"].as_array().into_iter().flatten() {
            let text = |name: &str| violation[name].as_str().unwrap_or("?").to_owned();
            let _ = writeln!(out, "- {}: {}  \n  `{}`", text("invariant"), text("what"), text("repeat"));
        }
    }
    out
}

fn count_of(night: &Value, name: &str) -> u64 {
    night[name].as_u64().unwrap_or(0)
}

/// All names that any level counted, and for rare paths also those that a level must reach and did not.
fn names(nights: &[Value], of: &str) -> Vec<String> {
    let mut all: Vec<String> =
        nights.iter().filter_map(|night| night[of].as_object()).flat_map(|map| map.keys().cloned()).collect();
    if of == "reached" {
        let never = nights.iter().filter_map(|night| night["never_reached"].as_array()).flatten();
        all.extend(never.filter_map(|name| name.as_str().map(str::to_owned)));
    }
    // So that I9 comes before I10.
    all.sort_by_key(|name| (name.len().min(3), name.clone()));
    all.dedup();
    all
}

fn table(out: &mut String, title: &str, nights: &[Value], of: &str, names: &[&String]) {
    let heads: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    let _ = writeln!(out, "\n## {title}\n\n| | {} |\n| --- |{}", heads.join(" | "), " ---: |".repeat(heads.len()));
    for name in names {
        let counts: Vec<String> = nights.iter().map(|night| count(night, of, name).to_string()).collect();
        let _ = writeln!(out, "| {name} | {} |", counts.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn night(failures: u64, never: &[&str]) -> Value {
        json!({
            "seeds": 10, "new_seeds": 10, "seconds": 2.0, "seeds_per_second": 5.0,
            "failures": failures, "never_reached": never,
            "reached": { "sleep": 7, "override": 3 }, "checked": { "I2": 9 },
            "violations": [{ "invariant": "I2", "what": "lost", "repeat": "admit simulate --level 1 --seeds 1 --from 4" }],
        })
    }

    #[test]
    fn a_path_never_reached_is_a_failure_like_a_broken_promise() {
        assert!(wrong("L1", &night(0, &[])).is_empty());
        assert_eq!(wrong("L1", &night(2, &["equal times"])).len(), 2);
        assert_eq!(wrong("L1", &json!({})).len(), 2, "a part that wrote nothing did nothing");
        let mut kept_alone = night(0, &[]);
        kept_alone["new_seeds"] = json!(0);
        assert_eq!(wrong("L1", &kept_alone), ["L1: no new seed was run"], "those that are kept were run before");
    }

    #[test]
    fn the_report_leaves_nothing_out() {
        let nights = [night(0, &[]), night(1, &["equal times"]), night(0, &[]), night(0, &[])];
        let report = report(&nights, 40);
        for part in ["from 40", "| L1 | 10 | 2 | 5.0 | 1 |", "| sleep | 7 |", "| equal times | 0 |", "| I2 | 9 |"] {
            assert!(report.contains(part), "{part}:\n{report}");
        }
        assert!(report.contains("never reached: equal times") && report.contains("--level 1 --seeds 1 --from 4"));
    }

    #[test]
    fn a_night_is_as_long_as_it_is_asked_to_be() {
        let asked = |text: &str| asked(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(asked("").unwrap().minutes, MINUTES);
        let set = asked("--minutes 2.5 --from 7 --profile night").unwrap();
        assert_eq!((set.minutes, set.from, set.profile.as_str()), (2.5, Some(7), "night"));
        assert!(asked("--minutes").is_err() && asked("--hours 3").is_err());
        assert_eq!(PARTS.iter().map(|part| part.share).sum::<f64>(), 100.0);
    }
}
