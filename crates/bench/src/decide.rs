//! The native time from a code's text to a verdict: SHA-256, look-up, `decide`.

use std::hint::black_box;

use admit_core::barcode::BarcodeHash;
use admit_core::decide::{Question, Standing, decide};
use admit_core::manifest::{Found, Index};
use admit_core::scan::{Outcome, ScanKind};
use admit_core::time::Timestamp;
use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};

use crate::list::{List, NOON_MS, Random};
use crate::row::{Row, Target};
use crate::run::Run;
use crate::sample::by_turns_ms;

/// Measures a decision with a list as large as one evening's, and with one as large as a festival's with the tickets of
/// every day.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    [20_000, 1_000_000].into_iter().map(|tickets| at(run, run.scaled(tickets, 50_000))).collect()
}

fn at(run: &Run, tickets: usize) -> Result<Row> {
    let list = List::new(tickets)?;
    let records = list.tickets.iter();
    let index = Index::from_records(records.map(|ticket| Found {
        prefix: ticket.hash.prefix(),
        ticket_id: ticket.ticket_id.as_str(),
        rules: &list.rules[ticket.class],
        group: None,
    }))?;
    let mut prefixes: Vec<[u8; 16]> = list.tickets.iter().map(|ticket| ticket.hash.prefix()).collect();
    prefixes.sort_unstable();
    let mut random = Random(1);
    let asked = run.scaled(100_000, 10_000);
    let texts: Vec<String> = (0..asked).map(|_| list.tickets[random.below(list.tickets.len())].text.clone()).collect();
    let (gate_id, gate) = &list.gates[0];
    let standing = Standing::default();
    let ours = || {
        let admitted = texts.iter().filter(|text| {
            let found = index.find(&BarcodeHash::of(text));
            let verdict = decide(Question {
                event: &list.event,
                ticket: found.map(|found| found.rules),
                standing: &standing,
                gate_id,
                gate: Some(gate),
                at: Timestamp::clamped(NOON_MS),
                kind: ScanKind::Entry,
                area_inside: 0,
            });
            verdict.outcome == Outcome::Valid
        });
        admitted.count()
    };
    let bare = || {
        let found = texts.iter().filter(|text| {
            let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            let prefix: [u8; 16] = std::array::from_fn(|at| hash[at]);
            black_box(prefixes.binary_search(&prefix)).is_ok()
        });
        found.count()
    };
    ensure!(bare() == asked, "every code asked for is in the list");
    ensure!((1..=asked).contains(&ours()), "most tickets are good");
    let (ours, bare) = by_turns_ms(run.runs(9), ours, bare);
    let each_us = |ms: f64| ms * 1_000.0 / asked as f64;
    Ok(Row::new(
        format!("decide, native, {} tickets", crate::row::number(tickets as f64)),
        each_us(ours),
        "µs",
        Target::None,
        format!("{asked} known codes in random order; limit: bare SHA-256 and binary search"),
    )
    .beside(each_us(bare), Target::AtMost(2.0)))
}
