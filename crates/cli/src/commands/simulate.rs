//! `admit simulate`: runs the simulator (trust §3).

mod http;
mod postgres;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use admit_sim::store_factory::Hooks;
use admit_sim::{Options, Place, Report, embedded, regressions, run_seed_in, run_seeds};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use postgres::Databases;

/// `admit simulate --level 0|1|2 --seeds N [--from S]`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit simulate --level 0 --seeds 1000
  admit simulate --level 1 --seeds 1 --from 4711 --trace")]
pub struct Simulate {
    /// Level of the simulation. 0: phone engines against a model server in memory; 1: the use cases on a database;
    /// 2: the HTTP server on a database.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    level: u8,
    /// Number of seeds. For a single seed the configuration is printed too.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// Run for this many minutes instead of a number of seeds.
    #[arg(long)]
    minutes: Option<f64>,
    /// First seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Database of levels 1 and 2: the embedded one in memory, or PostgreSQL.
    #[arg(long, value_enum, default_value_t = Kind::Sqlite)]
    store: Kind,
    /// PostgreSQL server on which databases are made. The store uses the role in this address.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Superuser of that server, who makes the databases and restores backups.
    #[arg(long, env = "ADMIT_SIM_SUPERUSER_URL", hide_env_values = true)]
    superuser_url: Option<String>,
    /// Number of threads. When absent, one per processor, or two per processor on PostgreSQL. A seed runs on one
    /// thread.
    #[arg(long)]
    jobs: Option<usize>,
    /// Run each seed a second time and compare the results. Run a seed with two organisations once more with one of
    /// them.
    #[arg(long)]
    thorough: bool,
    /// Print the trace of a single seed.
    #[arg(long)]
    trace: bool,
    /// Write the results of all seeds to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The embedded database, in memory.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

/// How many seeds run between two checks of the time limit, at level 0, 1 and 2. So many take about a second.
const BETWEEN_LOOKS: [u64; 3] = [200, 50, 20];

impl Simulate {
    /// Runs the simulator. The exit code is 1 on a violation, whose seed and configuration are printed.
    pub fn run(self) -> ExitCode {
        match self.held() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("admit: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    /// Whether every invariant held.
    fn held(&self) -> anyhow::Result<bool> {
        if self.store == Kind::Sqlite {
            return self.held_in(embedded());
        }
        if self.level == 0 {
            bail!("level 0 has no store");
        }
        let url = self.database_url.as_deref().context("--store postgres needs --database-url")?;
        let superuser = self.superuser_url.as_deref().context("--store postgres needs --superuser-url")?;
        let databases = Databases::on(url, superuser);
        let build = |hooks: Hooks| databases.home(hooks);
        self.held_in(Place { build: &build, open: None })
    }

    fn held_in(&self, mut place: Place<'_>) -> anyhow::Result<bool> {
        place.open = (self.level == 2).then(http::open);
        let options =
            Options { thorough: self.thorough, keep_trace: self.trace && self.seeds == 1, ..Options::default() };
        if self.seeds == 1 && self.minutes.is_none() {
            let outcome = run_seed_in(self.level, self.from, &options, &place);
            for line in &outcome.trace {
                println!("{line}");
            }
            print!("{outcome}");
            return Ok(outcome.violations.is_empty());
        }
        let started = Instant::now();
        let report = self.run_many(&options, &place, started);
        print!("{report}");
        let took = started.elapsed();
        println!("{:.1} s, {:.1} seeds/s", took.as_secs_f64(), report.seeds as f64 / took.as_secs_f64());
        if let Some(file) = &self.json {
            let text = report::json(&report, self.store_name(), self.from, self.kept().len(), took);
            std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
        }
        Ok(report.failures == 0)
    }

    fn run_many(&self, options: &Options, place: &Place<'_>, started: Instant) -> Report {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // On PostgreSQL most of a seed's time is spent between two processes, so twice as many threads run.
        let jobs = self.jobs.unwrap_or(if self.store == Kind::Postgres { processors * 2 } else { processors });
        let mut report = run_seeds(self.level, &self.kept(), jobs, options, place);
        let Some(minutes) = self.minutes else {
            let seeds: Vec<u64> = (self.from..self.from.saturating_add(self.seeds)).collect();
            report.add(run_seeds(self.level, &seeds, jobs, options, place));
            return report;
        };
        let mut next = self.from;
        let within = Duration::try_from_secs_f64(minutes * 60.0).unwrap_or_default();
        while started.elapsed() < within {
            let seeds: Vec<u64> = (next..next + BETWEEN_LOOKS[usize::from(self.level)]).collect();
            next += seeds.len() as u64;
            report.add(run_seeds(self.level, &seeds, jobs, options, place));
        }
        report
    }

    /// Seeds of `regressions`, which once found a bug. They run before all others. Those of level 1 run at level 2 too.
    fn kept(&self) -> Vec<u64> {
        let mut kept = regressions(self.level);
        if self.level == 2 {
            kept.extend(regressions(1));
        }
        kept
    }
    fn store_name(&self) -> &'static str {
        match (self.level, self.store) {
            (0, _) => "none",
            (_, Kind::Sqlite) => "sqlite",
            (_, Kind::Postgres) => "postgres",
        }
    }
}
