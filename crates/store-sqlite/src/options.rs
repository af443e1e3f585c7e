//! The store's settings, and the hooks through which the simulator injects faults.

use std::sync::Arc;
use std::time::Duration;

use admit_core::rule::Epoch;
pub use admit_store_queries::hooks::{ClockHook, CommitFault, CommitHook, StatementFault, StatementHook};

/// Is called with the reason when the store stops. The process must then end; its next start reads what was committed.
pub type StopHook = Arc<dyn Fn(&str) + Send + Sync>;

/// How the store is opened.
#[derive(Clone)]
pub struct Options {
    /// Runs everything on the calling thread, with futures that are always ready. The simulator uses this.
    pub inline: bool,
    /// The clock; `None` uses the system's clock.
    pub clock: Option<ClockHook>,
    /// Hook for faults at commits; `None` outside the simulator.
    pub before_commit: Option<CommitHook>,
    /// Hook for faults at statements; `None` outside the simulator.
    pub before_statement: Option<StatementHook>,
    /// The first epoch of a new database. `None`: it begins at the clock's time with a random part from SQLite.
    pub first_epoch: Option<Epoch>,
    /// The number of threads that read.
    pub readers: usize,
    /// The longest time of one read. SQLite cancels a read that takes longer, because it would keep the journal from
    /// being copied back into the file.
    pub reader_limit: Duration,
    /// Length of the journal, in pages of 4 KiB, from which the thread that writes copies the rest of the journal back
    /// itself. So the journal starts at its beginning again, even if one write follows the other without a pause.
    pub journal_pages: i64,
    /// Is called once when the store stops itself.
    pub on_stop: Option<StopHook>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inline: false,
            clock: None,
            before_commit: None,
            before_statement: None,
            first_epoch: None,
            readers: 3,
            reader_limit: Duration::from_secs(30),
            journal_pages: 10_000,
            on_stop: None,
        }
    }
}

impl Options {
    /// The simulator's options: everything on the calling thread.
    pub fn inline() -> Self {
        Self { inline: true, ..Self::default() }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("inline", &self.inline)
            .field("readers", &self.readers)
            .field("reader_limit", &self.reader_limit)
            .finish_non_exhaustive()
    }
}
