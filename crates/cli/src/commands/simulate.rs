//! `admit simulate`: the simulator of trust.md §3.

use std::process::ExitCode;

use admit_sim::{Options, run, run_seed};
use clap::Args;

/// `admit simulate --level 0|1 --seeds N [--from S]`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// 0: engines against bare fact sets; 1: the use cases on the embedded database in memory.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=i64::from(LEVELS) - 1))]
    level: u8,
    /// How many seeds. Of one alone the configuration is printed too.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads; every processor when absent. A seed runs on one.
    #[arg(long)]
    jobs: Option<usize>,
    /// Runs each seed again and compares, and again without the other organisation.
    #[arg(long)]
    thorough: bool,
    /// With one seed: prints its trace.
    #[arg(long)]
    trace: bool,
}

/// Levels there are: 0 and up.
const LEVELS: u8 = 2;

impl Simulate {
    /// Does it. Exit code 1 on a violation, with its seed and configuration printed.
    pub fn run(self) -> ExitCode {
        let options =
            Options { thorough: self.thorough, keep_trace: self.trace && self.seeds == 1, ..Options::default() };
        let failed = if self.seeds == 1 {
            let outcome = run_seed(self.level, self.from, &options);
            for line in &outcome.trace {
                println!("{line}");
            }
            print!("{outcome}");
            !outcome.violations.is_empty()
        } else {
            let jobs = self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
            let report = run(self.level, self.from, self.seeds, jobs, &options);
            print!("{report}");
            report.failures > 0
        };
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
