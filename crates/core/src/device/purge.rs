//! Scans leave the journal 30 days after their event (spec §3 "Log"). Only received scans leave, and only a beginning
//! of the log, so that the rest is a log without gaps. A summary takes the place of the purged rows.
//!
//! At start the engine has read all rows. It keeps those in memory that may be purged by the clock's estimate. They are
//! purged once an exchange with the server has confirmed the time. So a wall clock that was set forward purges nothing.
//! The purge concerns storage alone: what this session holds in memory stays until the next start.

use std::collections::VecDeque;

use super::clock::Clock;
use super::journal::Journal;
use crate::limits;
use crate::wire::engine::Row;
use crate::wire::journal::{self, Entry};

/// A beginning of the journal that may be purged once the clock is confirmed, with its rows as storage returned them at
/// start.
#[derive(Debug)]
struct Plan {
    /// The rows that are not purged yet.
    rows: VecDeque<Row>,
    /// The sum of the rows that are purged.
    summed: Journal,
    /// The seq of the last scan among the rows.
    seq: u64,
}

/// The rows that this session may purge.
#[derive(Debug, Default)]
pub(super) struct Purge {
    /// Absent if there are none.
    plan: Option<Plan>,
}

impl Purge {
    /// Keeps in memory the rows that may be purged if the clock's estimate is right. The purge itself waits for a
    /// confirmed time.
    pub fn plan(&mut self, journal: &Journal, clock: &Clock, mut rows: Vec<Row>) {
        let Some((row, seq)) = journal.removable(clock.read().at_ms) else { return };
        rows.truncate(rows.partition_point(|kept| kept.n <= row));
        self.plan = Some(Plan { rows: rows.into(), summed: Journal::default(), seq });
    }

    /// Does one step of the purge. The caller does so at a quiet moment: nothing is being written or decided, and no
    /// code was read lately. Returns the summary row, which replaces all rows up to and including its own number. `None`
    /// if there is nothing to purge yet.
    pub fn step(&mut self, journal: &Journal, clock: &Clock) -> Option<Row> {
        if !clock.exchanged() {
            return None;
        }
        // The earliest that the time can be now. However the wall clock was set, it is at least this late.
        let now = clock.read();
        let at_ms = now.at_ms.saturating_sub_unsigned(now.uncertainty_ms);
        // The limit is computed again. A new epoch may have put receipts in question, or a new list moved the event's
        // end.
        let reach = journal.removable(at_ms).map_or(0, |(_, seq)| seq);
        let mut plan = self.plan.take_if(|plan| plan.seq <= reach)?;
        for row in plan.rows.drain(..plan.rows.len().min(limits::PURGE_ROWS)) {
            plan.summed.read(&row);
        }
        let summary = plan.summed.summary()?;
        let text = journal::write(&Entry::Summary(Box::new(summary)));
        let row = Row { n: plan.summed.rows, text };
        if !plan.rows.is_empty() {
            // The next step continues from the summary, so the purged scans need not stay in memory.
            plan.summed = Journal::default();
            plan.summed.read(&row);
            self.plan = Some(plan);
        }
        Some(row)
    }
}
