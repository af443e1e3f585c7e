//! Online scans: 32 phones ask the server about one code after another. Each phone waits for an answer before its next
//! question. Every answer is a commit.

use std::sync::Barrier;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};

use crate::ground::Ground;
use crate::ingest::{bare_rate, paired};
use crate::organiser::Listed;
use crate::phone::{Format, Phone};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::{median, percentile};
use crate::server::Server;

const PHONES: usize = 32;
/// The target for the 99th percentile of the answer time, in milliseconds (docs/performance.md).
const P99_MS: f64 = 15.0;

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
    let data = ground.copy(run, "online")?;
    let server = Server::serve_on(run, &data)?;
    let mut phones = paired(ground, &server, PHONES)?;
    let mut fresh = ground.tickets.as_slice();
    let each = run.scaled(500, 20);
    ask_all(&server, &mut phones, each / 10, &mut fresh)?;
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for _ in 0..run.runs(3) {
        let (seconds, more) = ask_all(&server, &mut phones, each, &mut fresh)?;
        rates.push((PHONES * each) as f64 / seconds);
        times.extend(more);
    }
    server.stop()?;

    let scans = run.scaled(8_000, 500);
    let items = phones[0].items(Format::S2, &ground.tickets[..scans])?;
    let limits = (0..run.runs(3)).map(|_| bare_rate(store, &data, ground, &items, 1, PHONES));
    let limit = median(&limits.collect::<Result<Vec<_>>>()?);
    ground.drop_copy(&data)?;
    let share = if store == Store::Sqlite { 1.0 } else { 0.5 };
    let input = format!(
        "{PHONES} phones ask {} each, one after another, first scans; limit: bare commits of one scan",
        number(each as f64)
    );
    let time = |name: &str, share: f64, target: Target| {
        let name = format!("online scans, {store}, {PHONES} phones, {name}");
        Row::new(name, percentile(&times, share), "ms", target, "from the request to its whole answer")
    };
    Ok(vec![
        Row::new(format!("online scans, {store}, {PHONES} phones"), median(&rates), "scans/s", Target::None, input)
            .beside(limit, Target::Share(share)),
        time("p50", 0.5, Target::None),
        time("p99", 0.99, Target::AtMost(P99_MS)),
    ])
}

/// Lets every phone ask about `each` tickets. Gives the seconds from the first request to the last answer, and the
/// milliseconds of each answer.
fn ask_all(server: &Server, phones: &mut [Phone], each: usize, fresh: &mut &[Listed]) -> Result<(f64, Vec<f64>)> {
    let mut queues: Vec<Vec<Vec<u8>>> = Vec::new();
    for phone in phones {
        let (mine, rest) = fresh.split_at_checked(each).context("the event has too few tickets")?;
        *fresh = rest;
        queues.push(mine.iter().map(|ticket| phone.ask(ticket)).collect::<Result<_>>()?);
    }
    let start_line = Barrier::new(queues.len() + 1);
    std::thread::scope(|scope| {
        let runners: Vec<_> = queues
            .iter()
            .map(|queue| {
                let start_line = &start_line;
                scope.spawn(move || -> Result<Vec<f64>> {
                    let connection = server.connect();
                    start_line.wait();
                    let mut connection = connection?;
                    queue.iter().map(|request| ask(&mut connection, request)).collect()
                })
            })
            .collect();
        start_line.wait();
        let started = Instant::now();
        let mut times = Vec::new();
        for runner in runners {
            times.extend(runner.join().map_err(|_| anyhow!("a phone panicked"))??);
        }
        Ok((started.elapsed().as_secs_f64(), times))
    })
}

fn ask(connection: &mut crate::http::Connection, request: &[u8]) -> Result<f64> {
    let asked = Instant::now();
    let answer = connection.send(request)?;
    let took_ms = asked.elapsed().as_secs_f64() * 1_000.0;
    let said = answer.json().context("asking")?;
    ensure!(said["outcome"] == "valid", "a first scan is let in: {said}");
    Ok(took_ms)
}
