//! The simulator's speed in seeds per second, on one core.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::row::{Row, Target, number};
use crate::run::Run;
use crate::sample::median;

/// Measures levels 0 and 1.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    [(0, 2_000, 2_000.0), (1, 400, 500.0)]
        .into_iter()
        .map(|(level, seeds, least)| {
            let seeds = run.scaled(seeds, 100);
            let rates: Result<Vec<f64>> = (0..run.runs(3)).map(|at| rate(run, level, seeds, at * seeds)).collect();
            let input = format!("{} seeds by `admit simulate` on one core, its start included", number(seeds as f64));
            let name = format!("simulator, level {level}");
            Ok(Row::new(name, median(&rates?), "seeds/s", Target::AtLeast(least), input))
        })
        .collect()
}

fn rate(run: &Run, level: u8, seeds: usize, from: usize) -> Result<f64> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(run.binary()?);
    command.args(["simulate", "--level", &level.to_string(), "--seeds", &seeds.to_string()]);
    command.args(["--from", &from.to_string(), "--jobs", "1"]);
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().context("starting taskset, which keeps it to one core")?;
    let seconds = start.elapsed().as_secs_f64();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // The simulator also runs the seeds that failed before. `make test` judges violations, so none is an error here.
    let ran = said.lines().find_map(seeds_of);
    Ok(ran.with_context(|| format!("the simulator ({}) told no number of seeds", output.status))? / seconds)
}

/// Reads the number of seeds from a line such as `206 seeds, …`. `None` for other lines.
fn seeds_of(line: &str) -> Option<f64> {
    let (count, rest) = line.trim().split_once(' ')?;
    rest.starts_with("seeds").then(|| count.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_seeds_is_read_from_the_last_line() {
        let report = "        32 server killed\n206 seeds, 2 with a violation";
        assert_eq!(report.lines().find_map(seeds_of), Some(206.0));
        assert_eq!("no seeds".lines().find_map(seeds_of), None);
    }
}
