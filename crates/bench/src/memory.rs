//! What the server holds in memory: the demo loaded and idle, and while 32 phones upload.

use anyhow::{Context, Result};

use crate::ingest::once;
use crate::organiser::{Organiser, list_request, listed};
use crate::phone::{Format, Phone};
use crate::row::{Row, Target};
use crate::run::Run;
use crate::seed::Seed;
use crate::server::Server;

const MOST_MB: f64 = 120.0;

/// Resident memory of the process; the limit is the same binary on an empty folder.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let empty = Server::serve(run, &run.fresh_folder("empty")?)?;
    let (floor, _) = empty.memory_mb()?;
    empty.stop()?;

    let seed = Seed::of(run)?;
    let server = Server::serve(run, &seed.copy(run, "memory")?)?;
    let count = run.scaled(32, 8);
    let paired = Organiser::sign_in(&server, &seed.demo.account)?.pair(&seed.demo_place, count)?;
    let tickets = listed(&server, paired.first().context("no phone")?)?;
    for phone in &paired {
        server.connect()?.send(&list_request(phone, "zstd"))?;
    }
    let (idle, _) = server.memory_mb()?;

    let good: Vec<_> = tickets.into_iter().filter(|ticket| ticket.is_valid).collect();
    let phones = paired.into_iter().zip(0..).map(|(paired, number)| Phone::new(paired, 500 + number));
    let mut phones = phones.collect::<Result<Vec<_>>>()?;
    let batches = (good.len() / count / 50).min(10);
    let mut fresh = good.as_slice();
    once(&server, &mut phones, Format::V1, 50, batches, &mut fresh)?;
    let (after, most) = server.memory_mb()?;
    server.stop()?;

    let load = format!("{count} phones × {batches} batches of 50 of v1, all at once");
    let row = |what: &str, value: f64, input: String| {
        let input = format!("{input}; limit: the same binary on an empty folder");
        Row::new(format!("server memory, {what}"), value, "MB", Target::None, input)
            .beside(floor, Target::AtMost(MOST_MB))
    };
    Ok(vec![
        row("idle", idle, format!("demo event of 20,000 tickets, {count} phones have its list")),
        row("after load", after, load.clone()),
        row("most under load", most, load),
    ])
}
