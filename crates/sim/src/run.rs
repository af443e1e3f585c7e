//! Runs one seed, or many seeds on several threads.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use admit_store_queries::contents::Contents;

use crate::config::{BEGINNING_MS, Config};
use crate::coverage::{Coverage, INSIDE, MUST_REACH, WITH_A_STORE};
use crate::model_server::ModelServer;
use crate::mutants::{Mutant, Planted};
use crate::real_server::{Place, RealServer, office, store_factory};
use crate::record::Violation;
use crate::regressions::regressions;
use crate::server::{Server, Truth};
use crate::world::{FoundOut, World};

/// How to run seeds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The bug to plant; `None` for none.
    pub mutant: Option<Mutant>,
    /// Whether to keep the trace's lines.
    pub keep_trace: bool,
    /// Whether to run every seed twice and compare the runs (I27), and to run every seed with two organisations again
    /// with one of them (I13). If false, only every sixteenth seed is run again.
    pub thorough: bool,
}

/// The result of one seed.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The configuration of the run.
    pub config: Config,
    /// The violations; empty if the seed passes.
    pub violations: Vec<Violation>,
    /// The hash of the trace.
    pub trace_hash: u64,
    /// How often each rare path was reached.
    pub coverage: Coverage,
    /// How often each invariant was checked.
    pub checked: Coverage,
    /// The trace, if it was kept; else empty.
    pub trace: Vec<String>,
    /// The content of the server's tables at the end, if the trace was kept.
    pub contents: Contents,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.config)?;
        writeln!(f, "trace {:016x}", self.trace_hash)?;
        for violation in &self.violations {
            writeln!(f, "VIOLATION {}: {}", violation.invariant, violation.what)?;
        }
        Ok(())
    }
}

/// The result of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The level of the simulation: 0, 1 or 2.
    pub level: u8,
    /// The number of seeds run.
    pub seeds: u64,
    /// The results of seeds with violations, by seed, at most 20.
    pub failed: Vec<Outcome>,
    /// The number of seeds with violations.
    pub failures: u64,
    /// How often all seeds together reached each rare path.
    pub coverage: Coverage,
    /// How often each invariant was checked.
    pub checked: Coverage,
}

impl Report {
    /// Adds the result of a seed.
    fn note(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.coverage.add(&outcome.coverage);
        self.checked.add(&outcome.checked);
        if !outcome.violations.is_empty() {
            self.failures += 1;
            self.failed.push(outcome);
        }
    }

    /// Adds the results of other seeds.
    pub fn add(&mut self, mut other: Self) {
        self.seeds += other.seeds;
        self.failures += other.failures;
        self.coverage.add(&other.coverage);
        self.checked.add(&other.checked);
        self.failed.append(&mut other.failed);
        self.failed.sort_by_key(|outcome| outcome.seed);
        self.failed.truncate(20);
    }

    /// The paths that a long run must reach and that this run did not (I31).
    pub fn unreached(&self) -> Vec<&'static str> {
        // Above level 0 only paths outside of the use cases are counted.
        let inside = |name: &&str| self.level > 0 && INSIDE.contains(name);
        let must = MUST_REACH.iter().copied().filter(|name| !inside(name));
        must.chain(WITH_A_STORE.iter().copied().filter(|_| self.level > 0))
            .filter(|name| self.coverage.get(name) == 0)
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in &self.failed {
            writeln!(f, "{outcome}")?;
        }
        for (name, n) in self.coverage.iter() {
            writeln!(f, "{n:>10} {name}")?;
        }
        let checked: Vec<String> = self.checked.iter().map(|(name, n)| format!("{name} {n}")).collect();
        writeln!(f, "checked: {}", checked.join(", "))?;
        for name in self.unreached() {
            writeln!(f, "{:>10} {name}", "never")?;
        }
        writeln!(f, "{} seeds, {} with a violation", self.seeds, self.failures)
    }
}

/// The embedded store in memory without HTTP, as at level 1.
pub fn embedded() -> Place<'static> {
    Place { build: &store_factory::embedded, open: None }
}

/// Runs one seed at level 0 or 1.
///
/// # Panics
///
/// At any other level. Callers check the level first.
pub fn run_seed(level: u8, seed: u64, options: &Options) -> Outcome {
    run_seed_in(level, seed, options, &embedded())
}

/// Runs one seed, with the server of levels 1 and 2 in `place`.
///
/// # Panics
///
/// At a level that does not exist, or that `place` does not support. Callers check the level first.
pub fn run_seed_in(level: u8, seed: u64, options: &Options, place: &Place<'_>) -> Outcome {
    let config = Config::draw(seed);
    let planted = Planted::new(options.mutant);
    let once = |config: &Config, keep_trace, foretold: &[FoundOut]| match (level, &place.open) {
        (0, _) => {
            once(seed, config, ModelServer::new(seed, config, BEGINNING_MS, planted), planted, keep_trace, foretold)
        }
        (1, None) | (2, Some(_)) => once(
            seed,
            config,
            RealServer::new(seed, config, BEGINNING_MS, place, planted),
            planted,
            keep_trace,
            foretold,
        ),
        _ => panic!("there is no level {level} here"),
    };
    let Ran { mut outcome, truths, found_out } = once(&config, options.keep_trace, &[]);
    let again = options.thorough || seed.is_multiple_of(16);
    if again {
        outcome.checked.hit("I27");
        outcome.checked.hit_if(config.orgs > 1, "I13");
    }
    if again && once(&config, false, &[]).outcome.trace_hash != outcome.trace_hash {
        outcome.violations.push(Violation { invariant: "I27", what: "the same seed ran differently".into() });
    }
    if level > 0 && seed.is_multiple_of(office::ONE_IN) {
        let office = || office::run(seed, place, planted, options.keep_trace);
        let came = office();
        if again && office().trace.hash() != came.trace.hash() {
            outcome.violations.push(Violation { invariant: "I27", what: "the same office ran differently".into() });
        }
        outcome.trace_hash ^= came.trace.hash();
        outcome.violations.extend(came.violations);
        outcome.coverage.add(&came.coverage);
        outcome.checked.add(&came.checked);
        outcome.trace.extend(came.trace.into_lines());
    }
    // The epoch belongs to the server, and facts name it. A roll-back affects both organisations, and a device of
    // either may prove it (spec §3). So the run with one organisation gets the epochs that the other's devices began,
    // and nothing else.
    if again && config.orgs > 1 {
        let alone = once(&Config { orgs: 1, ..config.clone() }, options.keep_trace, &found_out);
        for part in differences(&alone.truths[0], &truths[0]) {
            // With a trace, the message shows where the two worlds differ first.
            let mut lines = alone.outcome.trace.iter().zip(&outcome.trace).filter(|(alone, beside)| alone != beside);
            let parted = lines.next().map(|(alone, _)| format!(", from {alone}")).unwrap_or_default();
            let what = format!("an organisation's {part} depend on whether another one exists{parted}");
            outcome.violations.push(Violation { invariant: "I13", what });
        }
    }
    outcome
}

/// The kinds of data (facts, rules, …) that differ between an organisation that runs alone and the same one beside
/// another.
fn differences(alone: &Truth, beside: &Truth) -> Vec<&'static str> {
    let parts = [
        ("facts", alone.facts == beside.facts),
        ("rules", alone.ticket_rules == beside.ticket_rules),
        ("reviews", alone.reviews == beside.reviews),
        ("states", alone.derived == beside.derived),
        ("incidents", alone.incidents == beside.incidents),
        ("logs", alone.logs == beside.logs),
    ];
    parts.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

/// One run of a seed.
struct Ran {
    outcome: Outcome,
    /// The content of each organisation at the end.
    truths: Vec<Truth>,
    found_out: Vec<FoundOut>,
}

fn once<S: Server>(
    seed: u64,
    config: &Config,
    server: S,
    planted: Planted,
    keep_trace: bool,
    foretold: &[FoundOut],
) -> Ran {
    let mut world = World::new(seed, config, server, planted, keep_trace);
    world.foretell(foretold);
    world.run();
    let found_out = world.found_out.clone();
    let contents = if keep_trace { world.server.contents() } else { Contents::default() };
    let truths = world.check();
    let mut coverage = world.coverage.clone();
    coverage.add(world.server.coverage());
    let checked = world.checked.clone();
    let trace_hash = world.trace_hash() ^ hidden(planted);
    let violations = world.sides.iter_mut().flat_map(|side| std::mem::take(&mut side.record.violations)).collect();
    let trace = world.sides.into_iter().flat_map(|side| side.trace.into_lines()).collect();
    let outcome = Outcome { seed, config: config.clone(), violations, trace_hash, coverage, checked, trace, contents };
    Ran { outcome, truths, found_out }
}

/// A planted bug: randomness that does not come from the seed.
fn hidden(planted: Planted) -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    if planted.is(Mutant::HiddenRandomness) { COUNTER.fetch_add(1, Ordering::Relaxed) } else { 0 }
}

/// Runs `n` seeds from `from` at level 0 or 1 on `jobs` threads, after the seeds of
/// [`REGRESSIONS`](crate::REGRESSIONS).
pub fn run(level: u8, from: u64, n: u64, jobs: usize, options: &Options) -> Report {
    let seeds: Vec<u64> = regressions(level).into_iter().chain(from..from.saturating_add(n)).collect();
    run_seeds(level, &seeds, jobs, options, &embedded())
}

/// Runs these seeds in `place` on `jobs` threads.
pub fn run_seeds(level: u8, seeds: &[u64], jobs: usize, options: &Options, place: &Place<'_>) -> Report {
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report { level, ..Report::default() });
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                let mut mine = Report { level, ..Report::default() };
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    mine.note(run_seed_in(level, *seed, options, place));
                }
                if let Ok(mut all) = report.lock() {
                    all.add(mine);
                }
            });
        }
    });
    report.into_inner().unwrap_or_default()
}
