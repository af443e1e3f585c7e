//! `cargo xtask fuzz`: searches by libFuzzer for bytes that break their readers (crates/fuzz).
//!
//! The stable compiler counts the code that each input reaches. The flags are those of cargo-fuzz without a sanitizer,
//! which would need another compiler. An input that breaks a target is kept in the folder that `make test` replays.

use crate::exec;
use crate::setup::{self, Need};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// libFuzzer is written in C++, so its build needs a C++ compiler.
const COMPILER: &[Need] = &[Need::new(&["/usr/bin/g++", "/usr/bin/c++"], &["g++"])];
/// Compiler flags: they count branches, and show the fuzzer the operands of comparisons.
const COUNTED: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
/// The number of targets that run at once.
const AT_ONCE: usize = 2;
/// Limits per input: seconds, megabytes of memory, bytes. Exceeding time or memory is a fault.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=8192"];
/// How much longer than asked a run may take. It first reads the inputs of earlier runs, before its clock starts.
const PATIENCE: Duration = Duration::from_secs(300);

/// The result of one target's run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    runs: u64,
    runs_a_second: u64,
    covered: u64,
    kept: u64,
    broken: Option<String>,
}

/// `fuzz [--seconds N] [TARGET…]`: runs these targets, or every target if none is named.
pub fn command(args: &[String]) -> Result<()> {
    let (seconds, chosen) = asked(args)?;
    setup::ensure(COMPILER)?;
    let targets = seeds()?;
    if let Some(unknown) = chosen.iter().find(|name| !targets.contains(name)) {
        bail!("there is no target `{unknown}`; there are {}", targets.join(", "));
    }
    let program = build()?;
    let targets = if chosen.is_empty() { targets } else { chosen };
    let mut outcomes = Vec::new();
    for some in targets.chunks(AT_ONCE) {
        let started = some.iter().map(|target| Ok((target, start(&program, target, seconds)?)));
        for (target, (child, log)) in started.collect::<Result<Vec<_>>>()? {
            let outcome = finish(child, &log, seconds).with_context(|| format!("the target {target}"))?;
            println!("{}", line(target, &outcome));
            outcomes.push((target.clone(), outcome));
        }
    }
    let broken: Vec<String> = outcomes
        .iter()
        .filter_map(|(target, outcome)| Some(format!("{target}: {}", outcome.broken.as_ref()?)))
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    bail!("broken, and kept as a regression:\n  {}", broken.join("\n  "))
}

fn asked(args: &[String]) -> Result<(u64, Vec<String>)> {
    let (mut seconds, mut chosen, mut rest) = (60, Vec::new(), args.iter());
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--seconds" => seconds = rest.next().context("--seconds N")?.parse().context("--seconds N")?,
            flag if flag.starts_with('-') => bail!("there is no {flag}: fuzz [--seconds N] [TARGET…]"),
            target => chosen.push(target.to_owned()),
        }
    }
    Ok((seconds, chosen))
}

fn folder() -> PathBuf {
    exec::root().join("target/fuzz")
}

/// Writes the seeds of every target. Gives the targets' names.
fn seeds() -> Result<Vec<String>> {
    let mut cargo = exec::cargo();
    cargo.args(["run", "--quiet", "--locked", "--profile", "proof", "-p", "admit-fuzz", "--bin", "admit-fuzz-seeds"]);
    let names = exec::output(cargo.arg("--").arg(folder().join("seeds")).stderr(Stdio::inherit()));
    let names = names.context("the seeds could not be made: `cargo test -p admit-fuzz` says why")?;
    Ok(names.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect())
}

/// Builds the fuzz program in a target folder of its own, because its flags count branches in all its code.
fn build() -> Result<PathBuf> {
    let version = exec::output(exec::command("rustc").arg("-vV")).context("rustc -vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let mut cargo = exec::cargo();
    cargo.args(["build", "--locked", "--profile", "proof", "-p", "admit-fuzz", "--features", "libfuzzer"]);
    cargo.args(["--bin", "admit-fuzz", "--target", host, "--target-dir"]).arg(folder());
    // With `--target` the flags apply to the product only, not to build scripts and macros.
    exec::run(cargo.env("RUSTFLAGS", COUNTED.join(" ")))?;
    Ok(folder().join(host).join("proof/admit-fuzz"))
}

fn start(program: &Path, target: &str, seconds: u64) -> Result<(Child, PathBuf)> {
    let (seeds, found) = (folder().join("seeds").join(target), folder().join("corpus").join(target));
    let ours = exec::root().join("crates/fuzz");
    let (kept, broken) = (ours.join("corpus").join(target), ours.join("regressions").join(target));
    std::fs::create_dir_all(&found)?;
    let log = folder().join(format!("{target}.log"));
    let mut command = exec::command(program);
    // libFuzzer writes new inputs to the first folder and only reads the others.
    command.arg(found).arg(seeds).args(Some(kept).filter(|kept| kept.exists()));
    command.args(Some(broken.clone()).filter(|broken| broken.exists()));
    command.arg(format!("-artifact_prefix={}/", folder().join(format!("{target}-")).display()).replace("-/", "-"));
    command.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1").args(LIMITS);
    command.arg(format!("-dict={}", ours.join("words.dict").display()));
    let written = std::fs::File::create(&log)?;
    command.env("ADMIT_FUZZ_TARGET", target).stdout(Stdio::null()).stderr(written);
    Ok((command.spawn().context("the fuzzer does not start")?, log))
}

fn finish(mut child: Child, log: &Path, seconds: u64) -> Result<Outcome> {
    let status = exec::wait(&mut child, Duration::from_secs(seconds) + PATIENCE)?;
    let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let mut outcome = read(&text);
    if let Some(input) = outcome.broken.take() {
        outcome.broken = Some(format!("{}; see {}", keep(Path::new(&input))?, log.display()));
    } else if !status.success() {
        bail!("it ended with {status}: see {}", log.display());
    }
    Ok(outcome)
}

/// Moves an input that broke a target to the folder of regressions. Gives its path.
fn keep(input: &Path) -> Result<String> {
    let name = input.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (target, name) = name.split_once('-').context("the fuzzer names its input by the target")?;
    let place = format!("crates/fuzz/regressions/{target}");
    std::fs::create_dir_all(exec::root().join(&place))?;
    std::fs::copy(input, exec::root().join(&place).join(name))?;
    std::fs::remove_file(input)?;
    Ok(format!("{place}/{name}"))
}

/// Reads the figures of a run from libFuzzer's log.
fn read(log: &str) -> Outcome {
    let stat = |name: &str| {
        let line = log.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    };
    // A line of progress: `#12345  REDUCE cov: 812 ft: 3021 corp: 201/14Kb …`
    let last = |name: &str| {
        let lines = log.lines().rev().filter(|line| line.starts_with('#'));
        let mut found = lines.filter_map(|line| {
            let (_, rest) = line.split_once(name)?;
            rest.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
        });
        found.next().unwrap_or_default()
    };
    Outcome {
        runs: stat("number_of_executed_units"),
        runs_a_second: stat("average_exec_per_sec"),
        covered: last(" cov: "),
        kept: last(" corp: "),
        broken: log.lines().find_map(|line| Some(line.split_once("Test unit written to ")?.1.trim().to_owned())),
    }
}

fn line(target: &str, outcome: &Outcome) -> String {
    let Outcome { runs, runs_a_second, covered, kept, broken } = outcome;
    let end = broken.as_ref().map_or(String::new(), |broken| format!("  BROKEN: {broken}"));
    format!("{target:<9} {runs:>11} runs {runs_a_second:>7}/s  {covered:>6} branches  {kept:>5} inputs kept{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_says_is_read() {
        let log = "INFO: seed corpus: files: 9\n#9\tINITED cov: 700 ft: 900 corp: 8/1Kb exec/s: 0\n\
                   #4096\tREDUCE cov: 812 ft: 3021 corp: 201/14Kb lim: 80 exec/s: 9\n\
                   stat::number_of_executed_units: 5000\nstat::average_exec_per_sec:     83\n";
        let expected = Outcome { runs: 5000, runs_a_second: 83, covered: 812, kept: 201, broken: None };
        assert_eq!(read(log), expected);
        let crash = "artifact_prefix='x'; Test unit written to /r/target/fuzz/code-crash-ab\nBase64: QQ==\n";
        assert_eq!(read(crash).broken.as_deref(), Some("/r/target/fuzz/code-crash-ab"));
    }

    #[test]
    fn time_and_targets_are_chosen() {
        let asked = |text: &str| asked(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(asked("").unwrap(), (60, vec![]));
        assert_eq!(asked("code --seconds 5 text").unwrap(), (5, vec!["code".to_owned(), "text".to_owned()]));
        assert!(asked("--second 5").is_err() && asked("--seconds").is_err());
    }
}
