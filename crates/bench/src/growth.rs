//! Growth: the time of one batch while the stored scans grow to five million.
//!
//! Phones upload the first scans. The filler then writes copies of these scans straight into the database, under other
//! ids.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::filler::Filler;
use crate::ground::Ground;
use crate::ingest::{once, paired};
use crate::organiser::Listed;
use crate::phone::{Format, Phone};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::median;
use crate::server::Server;

/// Numbers of stored scans at which batches are timed.
const POINTS: [usize; 3] = [1_000_000, 2_000_000, 5_000_000];
/// The number of stored scans at which a quick run times batches. Such a run only shows that the measurement works.
const QUICK: [usize; 1] = [200_000];
/// The longest time that one database is filled. Numbers of scans that it did not reach are not measured.
const FILLING: Duration = Duration::from_secs(360);
/// The largest allowed ratio of a batch's time at the end to its time at the beginning (docs/performance.md).
const MOST: f64 = 1.3;
/// Scans per batch.
const BATCH: usize = 1_000;

/// Measures each of the run's stores.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &store in &run.stores {
        rows.extend(one(run, store)?);
    }
    Ok(rows)
}

fn one(run: &Run, store: Store) -> Result<Vec<Row>> {
    let ground = Ground::of(run, store)?;
    let data = ground.copy(run, "growth")?;
    let mut server = Server::serve_on(run, &data)?;
    let mut phones = paired(ground, &server, 1)?;
    let mut fresh = ground.tickets.as_slice();
    let begun = batch_ms(run, &server, &mut phones, &mut fresh)?;
    let name = |stored: usize| format!("batch of 1,000, {store}, {} scans stored", number(stored as f64));
    let input = "one phone, format 2, first scans; limit: the same batch on an empty event";
    let mut rows = vec![Row::new(name(0), begun, "ms", Target::None, input)];
    let mut filler = Filler::of(store, &data, ground.tickets.len() - fresh.len())?;
    let mut stored = filler.base;
    let deadline = Instant::now() + FILLING;
    for point in if run.quick { &QUICK[..] } else { &POINTS[..] } {
        server.stop()?;
        stored = filler.fill(&data, stored, *point, deadline)?;
        server = Server::serve_on(run, &data)?;
        if stored < *point {
            eprintln!("   {store} held {stored} scans when the time for filling it was over");
            break;
        }
        let took = batch_ms(run, &server, &mut phones, &mut fresh)?;
        let mut row = Row::new(name(*point), took, "ms", Target::None, input).beside(begun, Target::None);
        row.target = Some(format!("≤ {MOST} × limit"));
        row.met = Some(took <= MOST * begun);
        rows.push(row);
    }
    server.stop()?;
    ground.drop_copy(&data)?;
    Ok(rows)
}

/// The median time of one batch in milliseconds. A warm server gets the batches one after the other.
fn batch_ms(run: &Run, server: &Server, phones: &mut [Phone], fresh: &mut &[Listed]) -> Result<f64> {
    once(server, phones, Format::V2, BATCH, 3, fresh)?;
    let times = (0..run.scaled(15, 3)).map(|_| once(server, phones, Format::V2, BATCH, 1, fresh));
    Ok(median(&times.collect::<Result<Vec<_>>>()?) * 1_000.0)
}
