//! Scans leave the journal 30 days after their event (spec §3 "Log"). Only received scans leave, and only a beginning
//! of the log, so that the rest is a log without gaps. A summary takes the place of the purged rows.
//!
//! At start the engine has read all rows. It keeps those in memory that may be purged by the clock's estimate. They are
//! purged once an exchange with the server has confirmed the time. So a wall clock that was set forward purges nothing.
//! The purge concerns storage alone: what this session holds in memory stays until the next start.

use super::journal::Journal;
use super::state::{Purge, State};
use crate::limits;
use crate::wire::engine::{Effect, Row};
use crate::wire::journal::{self, Entry};

impl State {
    /// Keeps in memory the rows that may be purged if the clock's estimate is right. The purge itself waits for a
    /// confirmed time.
    pub fn plan_purge(&mut self, mut rows: Vec<Row>) {
        let Some((row, seq)) = self.journal.removable(self.clock.read().at_ms) else { return };
        rows.truncate(rows.partition_point(|kept| kept.n <= row));
        self.purge = Some(Purge { rows: rows.into(), summed: Journal::default(), seq });
    }

    /// Does one step of the purge at a quiet moment: nothing is being written or decided, and no code was read lately.
    pub fn purge(&mut self) {
        let writer = &self.writer;
        let rests = writer.rows.is_empty() && writer.inputs.is_empty() && writer.blocked.is_none() && !writer.lost;
        if self.busy() || !rests || self.in_use() || !self.clock.exchanged() {
            return;
        }
        // The earliest that the time can be now. However the wall clock was set, it is at least this late.
        let now = self.clock.read();
        let at_ms = now.at_ms.saturating_sub_unsigned(now.uncertainty_ms);
        // The limit is computed again. A new epoch may have put receipts in question, or a new list moved the event's
        // end.
        let reach = self.journal.removable(at_ms).map_or(0, |(_, seq)| seq);
        let Some(mut purge) = self.purge.take_if(|purge| purge.seq <= reach) else { return };
        for row in purge.rows.drain(..purge.rows.len().min(limits::PURGE_ROWS)) {
            purge.summed.read(&row);
        }
        let Some(summary) = purge.summed.summary() else { return };
        let text = journal::write(&Entry::Summary(Box::new(summary)));
        let row = Row { n: purge.summed.rows, text };
        if !purge.rows.is_empty() {
            // The next step continues from the summary, so the purged scans need not stay in memory.
            purge.summed = Journal::default();
            purge.summed.read(&row);
            self.purge = Some(purge);
        }
        self.emit(Effect::Purge { row });
    }
}
