//! Scans arrive: phones upload signed batches to the real binary over real HTTP, durably.

use std::sync::Barrier;
use std::time::Instant;

use admit_core::wire::scanning::SyncAnswer;
use anyhow::{Context, Result, anyhow, ensure};

use crate::bare;
use crate::http::Answer;
use crate::organiser::{Listed, Organiser, listed};
use crate::phone::{Format, Phone, Upload};
use crate::row::{Row, Target, number};
use crate::run::Run;
use crate::sample::median;
use crate::seed::Seed;
use crate::server::Server;

/// One way of uploading.
struct Case {
    format: Format,
    /// Scans of a batch.
    batch: usize,
    phones: usize,
    /// Batches of a phone in one run, one after another.
    batches: usize,
    /// Share of the bare limit that must be reached (anchors.md §3).
    share: f64,
}

/// Runs of a case; the median counts.
const RUNS: usize = 3;
/// Scans of the bare limit's loop.
const BARE_SCANS: usize = 20_000;

/// Both forms at 1, 8 and 32 phones, and one phone with 2,000 queued scans.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let case = |format, batch, phones, batches, share| Case { format, batch, phones, batches, share };
    let small = |phones| case(Format::V1, 50, phones, run.scaled(20, 4), 1.0);
    let large = |phones, batches| case(Format::V2, 1_000, phones, run.scaled(batches, 1), 0.7);
    let cases = [small(1), small(8), small(32), large(1, 20), large(8, 4), large(32, 1)];
    let mut rows = Vec::new();
    for case in cases {
        if !run.quick || case.phones < 32 {
            rows.extend(one(run, &case)?);
        }
    }
    Ok(rows)
}

fn one(run: &Run, case: &Case) -> Result<Vec<Row>> {
    let seed = Seed::of(run)?;
    let folder = seed.copy(run, "ingest")?;
    let server = Server::serve(run, &folder)?;
    let paired = Organiser::sign_in(&server, &seed.demo)?.pair(&seed.large_place, case.phones)?;
    let tickets = listed(&server, paired.first().context("no phone")?)?;
    let mut fresh = tickets.as_slice();
    let phones = paired.into_iter().zip(0..).map(|(paired, number)| Phone::new(paired, 100 + number));
    let mut phones = phones.collect::<Result<Vec<_>>>()?;

    // Connections, prepared statements and caches as they are after the first minute.
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
    server.stop()?;

    // The limit, with the same scans, on the same disk, while nothing else runs.
    let bare_scans = run.scaled(BARE_SCANS, 2_000).min(tickets.len());
    let items = phones[0].items(case.format, &tickets[..bare_scans])?;
    let limits = (0..run.runs(RUNS)).map(|_| bare::rate(&folder, &tickets, &items, case.batch));
    let limit = median(&limits.collect::<Result<Vec<_>>>()?);
    let name = match case.format {
        Format::V1 => format!("ingest, {} × 50 of v1, {}", case.batches, count(case.phones, "phone")),
        Format::V2 => format!("ingest, 1,000 of format 2, {}", count(case.phones, "phone")),
    };
    let input = format!(
        "each phone {} of {}, first scans of an event of {} tickets; limit: bare inserts and updates, {} a transaction",
        if case.batches == 1 { "1 batch".to_owned() } else { format!("{} batches", case.batches) },
        number(case.batch as f64),
        number(tickets.len() as f64),
        number(case.batch as f64),
    );
    let row = Row::new(name, median(&rates), "scans/s", Target::None, input).beside(limit, Target::Share(case.share));
    let queued = queued.map(|seconds| {
        let input = "2 batches of 1,000 of format 2, one after the other; limit: bare inserts and updates";
        Row::new("one phone uploads 2,000 queued scans", seconds, "s", Target::None, input)
            .beside(2_000.0 / limit, Target::AtMost(0.3))
    });
    Ok([Some(row), queued].into_iter().flatten().collect())
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// A phone that was away: seconds until its last receipt is there.
fn queue(run: &Run, server: &Server, phones: &mut [Phone], fresh: &mut &[Listed]) -> Result<f64> {
    let seconds = (0..run.runs(5)).map(|_| once(server, phones, Format::V2, 1_000, 2, fresh));
    Ok(median(&seconds.collect::<Result<Vec<_>>>()?))
}

/// All phones upload at once; seconds from the start to the last receipt. Tickets are taken from `fresh`.
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
                    let answers = queue.iter().map(|upload| connection.send(&upload.request));
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

/// A rate of refusals would be a fine rate: every scan must be named as stored, and as nobody's second entry.
fn check(answer: &Answer, upload: &Upload) -> Result<()> {
    let said: SyncAnswer = serde_json::from_value(answer.json().context("uploading")?)?;
    let stored = said.processed.len();
    ensure!(stored == upload.scans, "{stored} of {} scans were stored: {:?}", upload.scans, said.rejected.first());
    ensure!(said.conflicts.is_empty(), "a first scan is no conflict: {:?}", said.conflicts.first());
    Ok(())
}
