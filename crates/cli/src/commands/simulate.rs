//! `admit simulate`: the simulator of trust.md §3.

use std::process::ExitCode;

use clap::Args;

/// `admit simulate --level 0|1 --seeds N [--from S]`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// 0: engines against bare fact sets; 1: the use cases on the embedded database in memory.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    level: u8,
    /// How many seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
}

impl Simulate {
    /// Does it. Exit code 1 on a violation, with its seed and configuration printed.
    pub fn run(self) -> ExitCode {
        let passed = admit_sim::run(self.level, self.from, self.seeds);
        if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
