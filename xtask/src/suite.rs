//! `check`, `test` and `test-long`: the steps in an order that finds mistakes early.

use crate::product::{PACKAGES, PROFILE, built, simulator};
use crate::results::{Outcome, Place, Results};
use crate::{conformance, contract, dist, exec, setup, tidy, wasm, web};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The variables that the tests read from the environment on a long run, before a release.
const LONG: [(&str, &str); 4] =
    [("ADMIT_LONG", "1"), ("ADMIT_LAWS", "100000"), ("ADMIT_KILLS", "100"), ("ADMIT_CUTS", "50")];

struct Run {
    results: Results,
    /// The number of steps that succeeded and count as one test each.
    whole: usize,
    times: Vec<(String, Duration)>,
    is_long: bool,
}

/// `cargo xtask setup`: everything that `test` needs.
pub fn setup() -> Result<()> {
    setup::node()?;
    setup::ensure(setup::TESTS)?;
    setup::ensure(setup::CONTRACT)?;
    wasm::toolchain().map(drop)
}

/// `cargo xtask check`: the quick checks before a commit.
pub fn check() -> Result<()> {
    let mut run = Run::new(false);
    let outcome = (|| {
        run.step("format", |_| format())?;
        run.step("tidy", |_| tidy::run())?;
        run.step("wasm and web", |_| wasm::build(false).and_then(|()| web::build()))?;
        run.step("types of the web code", |_| exec::run(&mut web::npm_run("check")))?;
        run.step("clippy", |_| clippy())?;
        run.step("licences and known weaknesses", |_| dist::deny())
    })();
    run.tell_times();
    outcome
}

/// `cargo xtask test` and `test-long`, which runs far more generated histories, seeds and kills. The last line is a
/// total, and the exit code says whether all tests passed.
pub fn test(is_long: bool) -> Result<()> {
    let mut run = Run::new(is_long);
    let outcome = run.all();
    run.tell_times();
    let reported = conformance::report(&run.results, outcome.is_ok());
    run.results.failures().iter().for_each(|failure| println!("failed: {failure}"));
    let outcome = outcome.and(reported);
    println!("{}", run.total(outcome.is_ok()));
    outcome
}

impl Run {
    fn new(is_long: bool) -> Run {
        Run { results: Results::default(), whole: 0, times: Vec::new(), is_long }
    }

    fn all(&mut self) -> Result<()> {
        self.step("setup", |_| setup())?;
        self.step("format", |_| format())?;
        self.step("tidy", |_| tidy::run())?;
        self.step("files that install it", |_| exec::run(exec::command("python3").arg("ops/check.py")))?;
        self.step("wasm and web", |_| wasm::build(false).and_then(|()| web::build()))?;
        self.step("wasm that runs the vectors", |_| wasm::build_vectors())?;
        self.step("types of the web code", |_| exec::run(&mut web::npm_run("check")))?;
        self.step("web unit tests", |run| run.vitest("test", &[]))?;
        self.step("clippy", |_| clippy())?;
        // All targets are built together. Building the binary alone would enable other features and rebuild half of the
        // crates.
        self.step("build", |_| {
            exec::run(exec::cargo().args(["build", "--locked", "--profile", PROFILE, "--all-targets"]).args(PACKAGES))
        })?;
        self.step("Rust tests", |run| run.cargo_test(&[], &[]))?;
        // The packages are the same as before. A smaller selection would enable other features and rebuild all crates.
        self.step("use cases on PostgreSQL, HTTP on PostgreSQL and Redis", |run| {
            run.cargo_test(&["--test", "it"], &[("ADMIT_TEST_STORE", "postgres")])
        })?;
        self.step("webhooks as the official library signs them", |run| {
            contract::webhooks(&built("admit")).map(|()| run.whole += 1)
        })?;
        if self.is_long {
            self.step("the document, asked of a served binary", |run| {
                contract::check(&built("admit"), contract::EXAMPLES, None).map(|()| run.whole += 1)
            })?;
        }
        let [level0, level1, level2] = if self.is_long { ["20000", "3000", "500"] } else { ["5000", "1000", "40"] };
        self.step("simulator, level 0", |run| run.simulate("0", "sqlite", level0))?;
        self.step("simulator, level 1", |run| run.simulate("1", "sqlite", level1))?;
        self.step("simulator, level 2 on SQLite", |run| run.simulate("2", "sqlite", level2))?;
        self.step("simulator, level 2 on PostgreSQL", |run| run.simulate("2", "postgres", level2))?;
        if self.is_long {
            self.step("planted bugs", |_| mutants())?;
        }
        // A browser starts faster than a server, so a long run kills it twice as often.
        let env = [("ADMIT_BIN", built("admit")), ("ADMIT_KILLS", "200".to_owned())];
        let env = if self.is_long { &env[..] } else { &env[..1] };
        self.step("browser tests", |run| run.vitest("e2e", env))
    }

    fn step(&mut self, name: &str, work: impl FnOnce(&mut Run) -> Result<()>) -> Result<()> {
        println!("\n── {name}");
        let start = Instant::now();
        let outcome = work(self);
        self.times.push((name.to_owned(), start.elapsed()));
        outcome.with_context(|| name.to_owned())
    }

    fn tell_times(&self) {
        println!();
        for (name, time) in &self.times {
            println!("{:>7.1} s  {name}", time.as_secs_f64());
        }
        println!("{:>7.1} s  in all\n", self.times.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>());
    }

    /// The last line of a run. For a run that failed it reports at least one failure, even if no test failed.
    fn total(&self, is_good: bool) -> String {
        let count = |outcome| self.results.count_of(outcome);
        let (passed, skipped) = (count(Outcome::Passed) + self.whole, count(Outcome::Skipped));
        let failed = count(Outcome::Failed).max(usize::from(!is_good));
        let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        format!("{passed} passed, {failed} failed{skipped}")
    }

    fn cargo_test(&mut self, more: &[&str], env: &[(&str, &str)]) -> Result<()> {
        let args = [&["--locked", "--profile", PROFILE, "--no-fail-fast"], more, &PACKAGES[..]].concat();
        let roots = programs(&args)?;
        let mut command = exec::cargo();
        command.arg("test").args(&args).envs(self.settings()).envs(env.iter().copied());
        let mut place = Place::default();
        exec::run_reading(command, self.patience(), |line| self.results.cargo_line(line, &roots, &mut place))
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        if self.is_long { LONG.to_vec() } else { Vec::new() }
    }

    /// How long one program may run.
    fn patience(&self) -> Duration {
        exec::PATIENCE * if self.is_long { 12 } else { 1 }
    }

    fn simulate(&mut self, level: &str, store: &str, seeds: &str) -> Result<()> {
        let mut command = simulator(&exec::root().join("target").join(PROFILE), level, store);
        exec::run_within(command.args(["--seeds", seeds]), self.patience())?;
        self.whole += 1;
        Ok(())
    }

    /// Runs a script of vitest. The results come from vitest's report in JSON, because its output is for people.
    fn vitest(&mut self, script: &str, env: &[(&str, String)]) -> Result<()> {
        let report = exec::root().join("target/xtask").join(format!("{script}.json"));
        let _ = std::fs::remove_file(&report);
        let mut command = web::npm_run(script);
        command.args(["--", "--reporter=default", "--reporter=json"]);
        command.arg(format!("--outputFile.json={}", report.display()));
        command.envs(self.settings()).envs(env.iter().cloned());
        let outcome = exec::run_within(&mut command, self.patience());
        match std::fs::read_to_string(&report) {
            Ok(text) => self.results.vitest(&text)?,
            Err(_) if outcome.is_ok() => bail!("the runner left no report at {}", report.display()),
            Err(_) => {}
        }
        outcome
    }
}

/// `make mutants`: proves that the simulator's checks can fail. It has a build of its own, so that no other build
/// contains a planted bug.
pub fn mutants() -> Result<()> {
    let mut command = exec::cargo();
    command.args(["test", "--locked", "--profile", PROFILE, "-p", "admit-sim", "--features", "mutants"]);
    exec::run(command.args(["--test", "mutants", "--", "--nocapture"]))
}

fn format() -> Result<()> {
    exec::run(exec::cargo().args(["fmt", "--all", "--check"])).context("`cargo fmt` puts this right")
}

fn clippy() -> Result<()> {
    let mut command = exec::cargo();
    command.args(["clippy", "--locked", "--all-targets", "--profile", PROFILE]).args(PACKAGES);
    exec::run(command.args(["--", "-D", "warnings"]))
}

/// Each test program with the file from which it is built, both as paths from the root. Cargo's names of test programs
/// are not unique.
fn programs(args: &[&str]) -> Result<BTreeMap<String, String>> {
    let mut command = exec::cargo();
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(args);
    let built = command.stderr(Stdio::inherit()).output().context("could not start cargo")?;
    if !built.status.success() {
        bail!("the tests do not build");
    }
    let root = format!("{}/", exec::root().display());
    let from_root = |path: &str| path.strip_prefix(&root).unwrap_or(path).to_owned();
    let program = |line: &str| {
        let message = serde_json::from_str::<serde_json::Value>(line).ok()?;
        Some((from_root(message["executable"].as_str()?), from_root(message["target"]["src_path"].as_str()?)))
    };
    Ok(String::from_utf8_lossy(&built.stdout).lines().filter_map(program).collect())
}
