//! The released binary: its size, and the time from a start on an empty folder to the first answer.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::row::{Row, Target};
use crate::run::Run;
use crate::sample::median;
use crate::server::Server;

const MOST_MB: f64 = 40.0;
const MOST_MS: f64 = 300.0;
/// How often the server is started. If the disk is busy with something else during one start, the median stays the
/// same.
const STARTS: usize = 9;

/// Measures the binary's bytes, and the milliseconds from the start of the process to the first answer of `/readyz`.
/// The raw limit is the time in which the same binary prints its version.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let binary = run.binary()?;
    let bytes = std::fs::metadata(binary).with_context(|| format!("looking at {}", binary.display()))?.len();
    let (mut answers, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..run.runs(STARTS) {
        let began = Instant::now();
        let said =
            Command::new(binary).arg("--version").stdout(Stdio::null()).status().context("asking the version")?;
        bare.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(said.success(), "{} does not say its version", binary.display());
        let folder = run.fresh_folder("first-start")?;
        let began = Instant::now();
        let server = Server::serve(run, &folder)?;
        answers.push(began.elapsed().as_secs_f64() * 1e3);
        server.stop()?;
    }
    let input = "`admit serve` makes its database, its secret and its tables; median; limit: `admit --version`";
    Ok(vec![
        Row::new("binary", bytes as f64 / 1e6, "MB", Target::AtMost(MOST_MB), "server, both web apps, all commands"),
        Row::new("start on an empty folder", median(&answers), "ms", Target::None, input)
            .beside(median(&bare), Target::AtMost(MOST_MS)),
    ])
}
