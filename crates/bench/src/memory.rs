//! The server's memory: idle with the demo loaded, and while 32 phones upload.

use anyhow::{Context, Result};

use crate::ground::Ground;
use crate::ingest::{once, paired};
use crate::organiser::{JSON, Organiser, list_request, listed};
use crate::phone::{Format, Phone};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::seed::Seed;
use crate::server::Server;

const MOST_MB: f64 = 120.0;
/// The largest allowed ratio of the memory of several large batches at once to that of one at a time.
const FLAT: f64 = 1.1;

/// Measures the resident memory of the process. The raw limit is the same binary on an empty folder.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let empty = Server::serve(run, &run.fresh_folder("empty")?)?;
    let (floor, _) = empty.memory_mb()?;
    empty.stop()?;

    let seed = Seed::of(run)?;
    let server = Server::serve(run, &seed.copy(run, "memory")?)?;
    let count = run.scaled(32, 8);
    let phones = Organiser::sign_in(&server, &seed.demo.account)?.pair(&seed.demo_place, count)?;
    let tickets = listed(&server, phones.first().context("no phone")?)?;
    for phone in &phones {
        server.connect()?.send(&list_request(phone, JSON, "zstd"))?;
    }
    let (idle, _) = server.memory_mb()?;

    let good: Vec<_> = tickets.into_iter().filter(|ticket| ticket.is_valid).collect();
    let phones = phones.into_iter().zip(0..).map(|(phone, number)| Phone::new(phone, 500 + number));
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
    let mut rows = vec![
        row("idle", idle, format!("demo event of 20,000 tickets, {count} phones have its list")),
        row("after load", after, load.clone()),
        row("most under load", most, load),
    ];
    rows.extend(large(run, floor)?);
    Ok(rows)
}

/// Measures the memory while phones that were away upload large batches, many at once.
fn large(run: &Run, floor: f64) -> Result<Vec<Row>> {
    let ground = Ground::of(run, Store::Sqlite)?;
    let data = ground.copy(run, "memory-large")?;
    let server = Server::serve_on(run, &data)?;
    let count = run.scaled(32, 4);
    let mut phones = paired(ground, &server, count)?;
    let mut fresh = ground.tickets.as_slice();
    let mut most = |phones: &mut [Phone], format: Format, batch: usize, batches: usize| -> Result<f64> {
        server.forget_peak()?;
        once(&server, phones, format, batch, batches, &mut fresh)?;
        Ok(server.memory_mb()?.1)
    };
    let storm = most(&mut phones, Format::V2, run.scaled(1_000, 500), 2)?;
    let (size, several) = (run.scaled(10_000, 2_000), run.scaled(8, 4));
    // The same number of batches, first one after the other, then all at once.
    let one = most(&mut phones[..1], Format::S2, size, several)?;
    let all = most(&mut phones[..several], Format::S2, size, 1)?;
    server.stop()?;
    ground.drop_copy(&data)?;
    let input = format!(
        "event of {} tickets, {count} phones back at one moment, 2 batches each; limit: the same binary on an empty folder",
        number(ground.tickets.len() as f64)
    );
    let storm = Row::new(
        format!("server memory, most under {count} phones × 1,000 of format 2"),
        storm,
        "MB",
        Target::None,
        input,
    )
    .beside(floor, Target::AtMost(MOST_MB));
    let input = "event as above, a batch each, at once; limit: as many of one phone, one after the other".to_owned();
    let name = format!("server memory, most under {several} phones × {} of S2's form", number(size as f64));
    let mut flat = Row::new(name, all, "MB", Target::None, input).beside(one, Target::None);
    flat.target = Some(format!("flat: ≤ {} × limit", number(FLAT)));
    flat.met = flat.ratio.map(|ratio| ratio <= FLAT);
    Ok(vec![storm, flat])
}
