//! Ingest: phones upload signed batches to the real binary over real HTTP, and every scan is durable.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use admit_core::wire::scanning::SyncAnswer;
use admit_core::wire::scans::ScansSyncAnswer;
use anyhow::{Context, Result, anyhow, ensure};

use crate::bare;
use crate::bare_postgres;
use crate::ground::Ground;
use crate::http::{Answer, Connection};
use crate::limits;
use crate::organiser::{Listed, Organiser};
use crate::phone::{Format, Phone, Upload};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::median;
use crate::server::{Data, Server};

/// One case: a store, a format, a size of batch and a number of phones.
struct Case {
    store: Store,
    format: Format,
    /// Scans per batch.
    batch: usize,
    phones: usize,
    /// Batches that each phone uploads in one run, one after another.
    batches: usize,
    /// The least share of the raw limit that is the target (docs/performance.md). `None`: no target.
    share: Option<f64>,
}

/// Runs per case. The median is the figure.
const RUNS: usize = 3;
/// How long a phone repeats an upload that the server answers with 503.
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures every size of batch with 1, 8 and 32 phones on each store, and one phone with 2,000 queued scans.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &store in &run.stores {
        for (format, batch, per_phone) in
            [(Format::V1, 50, [40, 20, 20]), (Format::V2, 1_000, [10, 4, 2]), (Format::S2, 10_000, [2, 1, 1])]
        {
            for (phones, batches) in [1, 8, 32].into_iter().zip(per_phone) {
                let batches = run.scaled(batches, 1);
                let case = Case { store, format, batch, phones, batches, share: share(store, batch, phones) };
                if !run.quick || phones < 32 && phones * batch < 20_000 {
                    rows.extend(one(run, &case)?);
                }
            }
        }
    }
    Ok(rows)
}

/// The target of a case, as a share of the raw limit. With large batches on SQLite it is lower for one phone. The phone
/// sends its batches one after the other, so the server cannot read one batch while it stores another.
fn share(store: Store, batch: usize, phones: usize) -> Option<f64> {
    match (store, batch, phones) {
        (Store::Sqlite, 50, _) => Some(1.2),
        (Store::Sqlite, _, 1) => Some(0.8),
        (Store::Sqlite, _, _) => Some(1.0),
        (Store::Postgres, _, ..=8) => Some(0.8),
        (Store::Postgres, ..) => None,
    }
}

fn one(run: &Run, case: &Case) -> Result<Vec<Row>> {
    let ground = Ground::of(run, case.store)?;
    let data = ground.copy(run, "ingest")?;
    let server = Server::serve_on(run, &data)?;
    let mut phones = paired(ground, &server, case.phones)?;
    let mut fresh = ground.tickets.as_slice();

    // Warms up: connections, prepared statements and caches are then as after a server's first minute.
    once(&server, &mut phones, case.format, 50, 1, &mut fresh)?;
    let per_run = case.phones * case.batches * case.batch;
    let mut rates = Vec::new();
    for _ in 0..run.runs(RUNS) {
        if fresh.len() < per_run {
            break;
        }
        let seconds = once(&server, &mut phones, case.format, case.batch, case.batches, &mut fresh)?;
        rates.push(per_run as f64 / seconds);
    }
    ensure!(!rates.is_empty(), "the event has too few tickets for {per_run} first scans");
    let queued = if case.format == Format::V2 && case.phones == 1 {
        Some(queue(run, &server, &mut phones, &mut fresh)?)
    } else {
        None
    };
    let (_, most_mb) = server.memory_mb()?;
    server.stop()?;

    let limits = Limits::of(run, case, &mut phones[0], ground, &data)?;
    ground.drop_copy(&data)?;
    Ok(rows(case, &rates, queued, &limits, most_mb))
}

/// Pairs `count` phones with the event's gate.
pub fn paired(ground: &Ground, server: &Server, count: usize) -> Result<Vec<Phone>> {
    let paired = Organiser::sign_in(server, &ground.account)?.pair(&ground.place, count)?;
    paired.into_iter().zip(0..).map(|(paired, number)| Phone::new(paired, 100 + number)).collect()
}

/// The raw limits for a case, in scans per second, measured with similar scans while nothing else runs.
struct Limits {
    /// Bare storing on the same disk.
    bare: f64,
    /// Appending the bytes of each batch as one value.
    append: f64,
    /// Reading and verifying on one core.
    read: f64,
}

impl Limits {
    fn of(run: &Run, case: &Case, phone: &mut Phone, ground: &Ground, data: &Data) -> Result<Limits> {
        let Case { store, format, batch, phones, .. } = *case;
        let scans = run.scaled(20_000.max(2 * batch * phones.min(4)), 2_000).min(ground.tickets.len());
        let items = phone.items(format, &ground.tickets[..scans])?;
        let rate = |one: &dyn Fn() -> Result<f64>| -> Result<f64> {
            Ok(median(&(0..run.runs(RUNS)).map(|_| one()).collect::<Result<Vec<_>>>()?))
        };
        Ok(Limits {
            bare: rate(&|| bare_rate(store, data, ground, &items, batch, phones))?,
            append: rate(&|| limits::append(store, data, &items, batch))?,
            read: rate(&|| limits::read(format, phone, &items))?,
        })
    }
}

/// Measures bare storing in scans per second, with one batch per transaction. PostgreSQL gets `phones` connections;
/// SQLite has one writer.
pub fn bare_rate(
    store: Store,
    data: &Data,
    ground: &Ground,
    items: &[String],
    batch: usize,
    phones: usize,
) -> Result<f64> {
    match store {
        Store::Sqlite => bare::rate(&data.folder, &ground.tickets, items, batch),
        Store::Postgres => bare_postgres::rate(&ground.tickets, items, batch, phones),
    }
}

fn rows(case: &Case, rates: &[f64], queued: Option<f64>, limits: &Limits, most_mb: f64) -> Vec<Row> {
    let Case { store, batch, phones, batches, .. } = case;
    let form = match case.format {
        Format::V1 => "v1",
        Format::V2 => "format 2",
        Format::S2 => "S2's form",
    };
    let size = number(*batch as f64);
    let each = if *batches == 1 { "1 batch".to_owned() } else { format!("{batches} batches") };
    let rate = median(rates);
    let input = format!(
        "each phone {each} of {form}, first scans in random order, the server holds at most {} MB; limit: bare inserts and \
         updates, {size} a transaction; of appending the bytes ({} scans/s) this is {}, of reading on one core ({} scans/s) {}",
        number(most_mb),
        number(limits.append),
        number(rate / limits.append),
        number(limits.read),
        number(rate / limits.read),
    );
    let name = format!("ingest, {store}, {size} of {form}, {}", count(*phones, "phone"));
    let target = case.share.map_or(Target::None, Target::Share);
    let row = Row::new(name, rate, "scans/s", Target::None, input).beside(limits.bare, target);
    let queued = queued.map(|seconds| {
        let input = "2 batches of 1,000 of format 2, one after the other; limit: bare inserts and updates";
        Row::new(format!("one phone uploads 2,000 queued scans, {store}"), seconds, "s", Target::None, input)
            .beside(2_000.0 / limits.bare, Target::AtMost(0.3))
    });
    [Some(row), queued].into_iter().flatten().collect()
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// The median time in seconds until a phone with 2,000 queued scans has its last receipt.
fn queue(run: &Run, server: &Server, phones: &mut [Phone], fresh: &mut &[Listed]) -> Result<f64> {
    let seconds = (0..run.runs(5)).map(|_| once(server, phones, Format::V2, 1_000, 2, fresh));
    Ok(median(&seconds.collect::<Result<Vec<_>>>()?))
}

/// Lets all phones upload at once. Gives the seconds from the start to the last receipt. Takes tickets from `fresh`.
pub fn once(
    server: &Server,
    phones: &mut [Phone],
    format: Format,
    batch: usize,
    batches: usize,
    fresh: &mut &[Listed],
) -> Result<f64> {
    let mut queues: Vec<Vec<Upload>> = Vec::new();
    for phone in phones {
        let mut queue = Vec::new();
        for _ in 0..batches {
            let (mine, rest) = fresh.split_at_checked(batch).context("the event has too few tickets")?;
            *fresh = rest;
            queue.push(phone.upload(format, mine)?);
        }
        queues.push(queue);
    }
    let start_line = Barrier::new(queues.len() + 1);
    let (started, answers) = std::thread::scope(|scope| {
        let runners: Vec<_> = queues
            .iter()
            .map(|queue| {
                let start_line = &start_line;
                scope.spawn(move || -> Result<(Instant, Vec<Answer>)> {
                    let connection = server.connect();
                    start_line.wait();
                    let mut connection = connection?;
                    let answers = queue.iter().map(|upload| until_room(server, &mut connection, upload));
                    let answers = answers.collect::<Result<Vec<_>>>()?;
                    Ok((Instant::now(), answers))
                })
            })
            .collect();
        start_line.wait();
        let started = Instant::now();
        let ended = runners.into_iter().map(|runner| runner.join().map_err(|_| anyhow!("an uploader panicked"))?);
        (started, ended.collect::<Result<Vec<_>>>())
    });
    let answers = answers?;
    let last = answers.iter().map(|(ended, _)| *ended).max().context("no phone")?;
    for ((_, answers), queue) in answers.iter().zip(&queues) {
        for (answer, upload) in answers.iter().zip(queue) {
            check(answer, upload)?;
        }
    }
    Ok(last.duration_since(started).as_secs_f64())
}

/// Sends an upload. While the server answers 503, it waits as long as `Retry-After` says and sends it again.
fn until_room(server: &Server, connection: &mut Connection, upload: &Upload) -> Result<Answer> {
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = connection.send(&upload.request)?;
        let back = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
        match back {
            Some(seconds) if answer.status == 503 && Instant::now() < until => {
                std::thread::sleep(Duration::from_secs(seconds));
                // The server may have closed the idle connection.
                *connection = server.connect()?;
            }
            _ => return Ok(answer),
        }
    }
}

/// Checks that the server stored every scan as a first entry, so that a rate of refusals is never measured.
pub fn check(answer: &Answer, upload: &Upload) -> Result<()> {
    let said = answer.json().context("uploading")?;
    if said["processed_count"].is_u64() {
        let said: ScansSyncAnswer = serde_json::from_value(said)?;
        let stored = said.processed_count as usize;
        ensure!(stored == upload.scans, "{stored} of {} scans are good: {:?}", upload.scans, said.errors.first());
        return Ok(());
    }
    let said: SyncAnswer = serde_json::from_value(said)?;
    let stored = said.processed.len();
    ensure!(stored == upload.scans, "{stored} of {} scans were stored: {:?}", upload.scans, said.rejected.first());
    ensure!(said.conflicts.is_empty(), "a first scan is no conflict: {:?}", said.conflicts.first());
    Ok(())
}
