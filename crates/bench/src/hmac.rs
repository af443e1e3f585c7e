//! The cost of verifying signatures while a server takes scans: it must never be the bottleneck. The target is at most
//! 5 % of the server's time for a scan (docs/performance.md).

use admit_core::sign::verify_v2;
use anyhow::{Context, Result, ensure};

use crate::ground::Ground;
use crate::ingest::{once, paired};
use crate::phone::Format;
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::{median, times_ms};
use crate::server::Server;

/// The largest share of the server's processor time, in percent.
const MOST_US: f64 = 40.0;
const MOST_PERCENT: f64 = 5.0;
/// Scans per batch.
const BATCH: usize = 1_000;

/// Measures with SQLite only. With PostgreSQL another process stores the scans, so the server's own time for a scan is
/// shorter. Verifying would take a larger share of it without being the bottleneck.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let ground = Ground::of(run, Store::Sqlite)?;
    let data = ground.copy(run, "hmac")?;
    let server = Server::serve_on(run, &data)?;
    let mut phones = paired(ground, &server, 1)?;
    let batches = run.scaled(20, 3);
    let mut fresh = ground.tickets.as_slice();
    once(&server, &mut phones, Format::V2, BATCH, 1, &mut fresh)?;
    let before = server.processor_s()?;
    once(&server, &mut phones, Format::V2, BATCH, batches, &mut fresh)?;
    let spent = server.processor_s()? - before;
    server.stop()?;
    ground.drop_copy(&data)?;

    let signed = phones[0].signed(&ground.tickets[..BATCH])?;
    let key = phones[0].scan_key();
    let verified = || signed.iter().filter(|(scan, signature)| verify_v2(key, scan, signature)).count();
    ensure!(verified() == BATCH, "what a phone signs is verified");
    let verify_us = median(&times_ms(run.runs(25), verified)) * 1e3 / BATCH as f64;
    let server_us = spent * 1e6 / (batches * BATCH) as f64;
    let (scan, _) = signed.first().context("no scan")?;
    let input = format!(
        "verifying a scan of format 2 ({} bytes signed) takes {} µs, the server's processor time a scan is {} µs; {batches} \
         batches of {}, SQLite",
        admit_core::sign::scan_bytes(scan).len(),
        number(verify_us),
        number(server_us),
        number(BATCH as f64)
    );
    let share = verify_us / server_us * 100.0;
    let spent =
        format!("processor time of all its threads; {batches} batches of {}, format 2, SQLite", number(BATCH as f64));
    Ok(vec![
        Row::new("HMAC, of the server's time for a scan", share, "%", Target::AtMost(MOST_PERCENT), input),
        Row::new("the server's processor time for a scan", server_us, "µs", Target::AtMost(MOST_US), spent),
    ])
}
