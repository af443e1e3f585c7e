//! `cargo xtask fuzz`: searches with libFuzzer for bytes that break a reader (crates/fuzz).
//!
//! The stable compiler adds counters of the code that each input reaches. The flags are those of cargo-fuzz, without a
//! sanitizer, which would need the nightly compiler. An input that breaks a target is stored in the folder that `make
//! test` replays.

use crate::exec;
use crate::product::PROFILE;
use crate::setup::{self, Need};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// libFuzzer is C++ code, so the build needs a C++ compiler.
const COMPILER: &[Need] = &[Need(&["/usr/bin/g++", "/usr/bin/c++"], "g++")];
/// The compiler flags that count branches, and that report the two sides of a comparison to the fuzzer.
const COUNTED: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
/// How many targets run at the same time.
const AT_ONCE: usize = 2;
/// The limits of one input: seconds, megabytes of memory, and length in bytes. An input that takes more time or memory
/// counts as a fault.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=8192"];
/// How much longer than its set time a run may take. A run reads the inputs of earlier runs before the set time begins.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs each chosen target for so many seconds. If none is chosen, it runs all targets.
pub fn run(seconds: u64, chosen: Vec<String>) -> Result<()> {
    setup::ensure(COMPILER)?;
    let targets = seeds()?;
    if let Some(unknown) = chosen.iter().find(|name| !targets.contains(name)) {
        bail!("there is no target `{unknown}`; there are {}", targets.join(", "));
    }
    let program = build()?;
    let targets = if chosen.is_empty() { targets } else { chosen };
    let mut broken = String::new();
    for some in targets.chunks(AT_ONCE) {
        let started = some.iter().map(|target| Ok((target, start(&program, target, seconds)?)));
        for (target, (child, log)) in started.collect::<Result<Vec<_>>>()? {
            let (line, found) = finish(child, &log, seconds).with_context(|| format!("the target {target}"))?;
            println!("{target:<9} {line}");
            broken += &found.map_or(String::new(), |found| format!("\n  {target}: {found}"));
        }
    }
    if broken.is_empty() { Ok(()) } else { bail!("broken, and kept as a regression:{broken}") }
}

fn folder() -> PathBuf {
    exec::root().join("target/fuzz")
}

/// Writes the inputs with which the targets begin. Returns the targets' names.
fn seeds() -> Result<Vec<String>> {
    let mut cargo = exec::cargo();
    cargo.args(["run", "--quiet", "--locked", "--profile", PROFILE, "-p", "admit-fuzz", "--bin", "admit-fuzz-seeds"]);
    let names = exec::output(cargo.arg("--").arg(folder().join("seeds")).stderr(Stdio::inherit()));
    let names = names.context("the seeds could not be made: `cargo test -p admit-fuzz` says why")?;
    Ok(names.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect())
}

/// Builds the fuzzing program into a target folder of its own, because its flags apply to every crate in it.
fn build() -> Result<PathBuf> {
    let version = exec::output(exec::command("rustc").arg("-vV")).context("rustc -vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let mut cargo = exec::cargo();
    cargo.args(["build", "--locked", "--profile", PROFILE, "-p", "admit-fuzz", "--features", "libfuzzer"]);
    cargo.args(["--bin", "admit-fuzz", "--target", host, "--target-dir"]).arg(folder());
    // With `--target` the flags do not apply to build scripts and procedural macros.
    exec::run(cargo.env("RUSTFLAGS", COUNTED.join(" ")))?;
    Ok(folder().join(host).join(PROFILE).join("admit-fuzz"))
}

fn start(program: &Path, target: &str, seconds: u64) -> Result<(Child, PathBuf)> {
    let (seeds, found) = (folder().join("seeds").join(target), folder().join("corpus").join(target));
    let ours = exec::root().join("crates/fuzz");
    let (kept, broken) = (ours.join("corpus").join(target), ours.join("regressions").join(target));
    std::fs::create_dir_all(&found)?;
    let log = folder().join(format!("{target}.log"));
    let mut command = exec::command(program);
    // libFuzzer writes new inputs to the first folder, and only reads the others.
    command.arg(found).arg(seeds).args(Some(kept).filter(|kept| kept.exists()));
    command.args(Some(broken).filter(|broken| broken.exists()));
    command.arg(format!("-artifact_prefix={}", folder().join(format!("{target}-")).display()));
    command.arg(format!("-max_total_time={seconds}")).args(LIMITS);
    command.arg(format!("-dict={}", ours.join("words.dict").display()));
    let written = std::fs::File::create(&log)?;
    command.env("ADMIT_FUZZ_TARGET", target).stdout(Stdio::null()).stderr(written);
    Ok((command.spawn().context("the fuzzer does not start")?, log))
}

/// Waits for a run. Returns its last line of figures, such as `#9 DONE cov: 812 ft: 3021 corp: 201/14Kb exec/s: 83`. If
/// an input broke the target, it also returns where that input is stored.
fn finish(mut child: Child, log: &Path, seconds: u64) -> Result<(String, Option<String>)> {
    let status = exec::wait(&mut child, Duration::from_secs(seconds) + PATIENCE)?;
    let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let figures = text.lines().rfind(|line| line.starts_with('#')).unwrap_or_default().replace('\t', " ");
    match text.lines().find_map(|line| line.split_once("Test unit written to ")) {
        Some((_, input)) => Ok((figures, Some(format!("{}; see {}", keep(Path::new(input.trim()))?, log.display())))),
        None if status.success() => Ok((figures, None)),
        None => bail!("it ended with {status}: see {}", log.display()),
    }
}

/// Moves an input that broke a target to the folder that `make test` replays.
fn keep(input: &Path) -> Result<String> {
    let name = input.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (target, name) = name.split_once('-').context("the fuzzer names its input by the target")?;
    let place = format!("crates/fuzz/regressions/{target}");
    std::fs::create_dir_all(exec::root().join(&place))?;
    std::fs::copy(input, exec::root().join(&place).join(name))?;
    std::fs::remove_file(input)?;
    Ok(format!("{place}/{name}"))
}
