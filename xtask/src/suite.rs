//! `check`, `test` and `test-long`: steps in an order that finds mistakes early and at little cost.

mod report;
mod tally;

use crate::conformance::{self, CargoLines, Results};
use crate::contract;
use crate::dist;
use crate::exec;
use crate::product::{PACKAGES, PROFILE, binary, built};
use crate::setup;
use crate::tidy;
use crate::wasm;
use crate::web;
use anyhow::{Context, Result, bail};
use report::Report;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tally::Tally;

/// How many histories are generated, how many seeds run and how often processes are killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The depth for every change before it lands.
    Gate,
    /// The depth before a release.
    Long,
}

impl Depth {
    /// The environment variables that the tests read.
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Depth::Gate => &[],
            Depth::Long => {
                &[("ADMIT_LONG", "1"), ("ADMIT_LAWS", "100000"), ("ADMIT_KILLS", "100"), ("ADMIT_CUTS", "50")]
            }
        }
    }

    /// The longest time that one program may run.
    fn patience(self) -> Duration {
        match self {
            Depth::Gate => exec::PATIENCE,
            Depth::Long => exec::PATIENCE * 12,
        }
    }

    /// The number of seeds at the simulator's level 0, at level 1, and at level 2 on each store.
    fn seeds(self) -> [&'static str; 3] {
        match self {
            Depth::Gate => ["5000", "1000", "40"],
            Depth::Long => ["20000", "3000", "500"],
        }
    }
}

struct Run {
    tally: Tally,
    results: Results,
    times: Vec<(String, Duration)>,
    /// The failed web tests, with the reasons that vitest gives.
    failures: Vec<String>,
    depth: Depth,
}

/// `cargo xtask setup`: installs everything that `test` needs.
pub fn setup() -> Result<()> {
    setup::node()?;
    setup::ensure(setup::TESTS)?;
    setup::ensure(setup::CONTRACT)?;
    wasm::toolchain().map(drop)
}

/// `cargo xtask check`: the quick checks before a commit, without running Rust tests.
pub fn check() -> Result<()> {
    let mut run = Run::new(Depth::Gate);
    let outcome = (|| {
        run.step("format", |_| format())?;
        run.step("tidy", |_| tidy::run())?;
        run.step("wasm and web", |_| wasm::build(false).and_then(|()| web::build()))?;
        run.step("types of the web code", |_| exec::run(web::npm().args(["run", "--silent", "check"])))?;
        run.step("clippy", |_| clippy())?;
        run.step("licences and known weaknesses", |_| dist::deny())
    })();
    run.times();
    outcome
}

/// Runs everything. The last line is a total; the result is an error if anything failed.
pub fn test(depth: Depth) -> Result<()> {
    let mut run = Run::new(depth);
    let outcome = run.all();
    run.times();
    let reported = conformance::report(&run.results, outcome.is_ok());
    run.told();
    let outcome = outcome.and(reported);
    if outcome.is_err() {
        run.tally.failed = run.tally.failed.max(1);
    }
    println!("{}", run.tally);
    outcome
}

impl Run {
    fn new(depth: Depth) -> Run {
        Run { tally: Tally::default(), results: Results::default(), times: Vec::new(), failures: Vec::new(), depth }
    }

    fn all(&mut self) -> Result<()> {
        self.step("setup", |_| setup())?;
        self.step("format", |_| format())?;
        self.step("tidy", |_| tidy::run())?;
        self.step("files that install it", |_| exec::run(exec::command("python3").arg("ops/check.py")))?;
        self.step("wasm and web", |_| wasm::build(false).and_then(|()| web::build()))?;
        self.step("wasm that runs the vectors", |_| wasm::build_vectors())?;
        self.step("types of the web code", |_| exec::run(web::npm().args(["run", "--silent", "check"])))?;
        self.step("web unit tests", |run| run.vitest("test", &[]))?;
        self.step("clippy", |_| clippy())?;
        // All targets in one build: the binary alone would choose other features, and half of it would be built again.
        self.step("build", |_| {
            exec::run(exec::cargo().args(["build", "--locked", "--profile", PROFILE, "--all-targets"]).args(PACKAGES))
        })?;
        self.step("Rust tests", |run| {
            run.cargo_test(&[&["--locked", "--profile", PROFILE, "--no-fail-fast"], &PACKAGES[..]].concat(), &[])
        })?;
        // The same packages: fewer would choose other features, and all of it would be built again.
        self.step("use cases on PostgreSQL, HTTP on PostgreSQL and Redis", |run| {
            let these = ["--locked", "--profile", PROFILE, "--no-fail-fast", "--test", "it"];
            run.cargo_test(&[&these[..], &PACKAGES[..]].concat(), &[("ADMIT_TEST_STORE", "postgres")])
        })?;
        self.step("webhooks as the official library signs them", |run| {
            contract::webhooks(&binary())?;
            run.tally.passed += 1;
            Ok(())
        })?;
        if self.depth == Depth::Long {
            self.step("the document, asked of a served binary", |run| {
                contract::check(&binary(), contract::EXAMPLES, None)?;
                run.tally.passed += 1;
                Ok(())
            })?;
        }
        let seeds = self.depth.seeds();
        self.step("simulator, level 0", |run| run.simulate("0", "sqlite", seeds[0]))?;
        self.step("simulator, level 1", |run| run.simulate("1", "sqlite", seeds[1]))?;
        self.step("simulator, level 2 on SQLite", |run| run.simulate("2", "sqlite", seeds[2]))?;
        self.step("simulator, level 2 on PostgreSQL", |run| run.simulate("2", "postgres", seeds[2]))?;
        if self.depth == Depth::Long {
            self.step("planted bugs", |_| mutants())?;
        }
        self.step("browser tests", |run| {
            let mut env = vec![("ADMIT_BIN", binary())];
            if run.depth == Depth::Long {
                // A browser starts faster than a server, so the tests kill it twice as often.
                env.push(("ADMIT_KILLS", "200".into()));
            }
            run.vitest("e2e", &env.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
        })
    }

    fn step(&mut self, name: &str, work: impl FnOnce(&mut Run) -> Result<()>) -> Result<()> {
        println!("\n── {name}");
        let start = Instant::now();
        let outcome = work(self);
        self.times.push((name.to_owned(), start.elapsed()));
        outcome.with_context(|| name.to_owned())
    }

    fn times(&self) {
        println!();
        for (name, time) in &self.times {
            println!("{:>7.1} s  {name}", time.as_secs_f64());
        }
        println!("{:>7.1} s  in all\n", self.times.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>());
    }

    fn cargo_test(&mut self, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
        let roots = programs(args)?;
        let tally = &mut self.tally;
        let (mut lines, mut started) = (CargoLines::default(), Vec::new());
        let outcome = exec::run_reading(
            exec::cargo().arg("test").args(args).envs(self.depth.settings().iter().copied()).envs(env.iter().copied()),
            self.depth.patience(),
            |line| {
                tally.cargo_line(line);
                lines.line(line);
            },
            |line| started.push(line.to_owned()),
        );
        started.iter().for_each(|line| lines.error_line(line));
        outcome.and(self.results.cargo(lines, &roots))
    }

    fn simulate(&mut self, level: &str, store: &str, seeds: &str) -> Result<()> {
        let mut command = exec::command(built("admit"));
        if store == "postgres" {
            command = exec::command(built("examples/private"));
            command.arg(built("admit"));
        }
        command.args(["simulate", "--level", level, "--store", store, "--seeds", seeds]);
        exec::run_within(&mut command, self.depth.patience())?;
        self.tally.passed += 1;
        Ok(())
    }

    /// Runs a script of vitest and counts its tests from the JSON report, because the screen's output is for people.
    fn vitest(&mut self, script: &str, env: &[(&str, &str)]) -> Result<()> {
        let report = exec::root().join("target/xtask").join(format!("{script}.json"));
        if report.exists() {
            std::fs::remove_file(&report)?;
        }
        let mut command = web::npm();
        command
            .args(["run", "--silent", script, "--", "--reporter=default", "--reporter=json"])
            .arg(format!("--outputFile.json={}", report.display()))
            .envs(self.depth.settings().iter().copied())
            .envs(env.iter().copied());
        let outcome = exec::run_within(&mut command, self.depth.patience());
        match std::fs::read_to_string(&report) {
            Ok(text) => {
                self.tally.vitest_report(&text)?;
                self.results.vitest(&text)?;
                self.failures.extend(Report::read(&text)?.failures());
            }
            Err(_) if outcome.is_ok() => bail!("the runner left no report at {}", report.display()),
            Err(_) => {}
        }
        outcome
    }

    /// Prints the failed tests at the end of the run, where people look.
    fn told(&self) {
        for name in self.results.failed_in_rust() {
            println!("failed: {name}");
        }
        for failure in &self.failures {
            println!("failed: {failure}");
        }
    }
}

/// `make mutants`: shows that the checkers can fail. It is a separate build; no other build has a planted bug.
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
    command.args(["--", "-D", "warnings"]);
    exec::run(&mut command)
}

/// Every test program and its main file, both as paths from the root. The names that cargo prints are not unique.
fn programs(args: &[&str]) -> Result<BTreeMap<String, String>> {
    let mut command = exec::cargo();
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(args);
    let built = command.stderr(Stdio::inherit()).output().context("could not start cargo")?;
    if !built.status.success() {
        bail!("the tests do not build");
    }
    let mut found = BTreeMap::new();
    let from_root = |path: &str| path.strip_prefix(&format!("{}/", exec::root().display())).unwrap_or(path).to_owned();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if let (Some(program), Some(root)) = (message["executable"].as_str(), message["target"]["src_path"].as_str()) {
            found.insert(from_root(program), from_root(root));
        }
    }
    Ok(found)
}
