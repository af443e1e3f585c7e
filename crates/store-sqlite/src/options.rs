//! Settings, and the hooks through which a simulator plants faults.

use std::sync::Arc;
use std::time::Duration;

use admit_core::rule::Epoch;
pub use admit_store_queries::hooks::{ClockHook, CommitFault, CommitHook, StatementFault, StatementHook};

/// Told why the store stopped: the process must end, and look again at what was committed when it starts.
pub type StopHook = Arc<dyn Fn(&str) + Send + Sync>;

/// How the store is opened.
#[derive(Clone)]
pub struct Options {
    /// Runs everything in place, on the calling thread, with futures that are always ready: the simulator's mode.
    pub inline: bool,
    /// The clock; the system's when absent.
    pub clock: Option<ClockHook>,
    /// Faults at commits.
    pub before_commit: Option<CommitHook>,
    /// Faults at statements.
    pub before_statement: Option<StatementHook>,
    /// The epoch a new database begins with; begun at the clock's time with SQLite's randomness when absent.
    pub first_epoch: Option<Epoch>,
    /// Threads that read.
    pub readers: usize,
    /// A reader older than this is ended: it would keep the journal from being folded back.
    pub reader_limit: Duration,
    /// Pages (4 KiB) of the journal from which on it is begun anew even while writes never pause: the writer folds the
    /// little that the thread beside has left over.
    pub journal_pages: i64,
    /// Called once when the store stops itself.
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
    /// The simulator's: everything in place.
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
