//! Settings.

use admit_core::rule::Epoch;
pub use admit_store_queries::hooks::{ClockHook, CommitFault, CommitHook, StatementFault, StatementHook};

/// How the store is opened.
#[derive(Clone)]
pub struct Options {
    /// Connections that write: as many lanes run at once.
    pub writers: usize,
    /// Connections that read.
    pub readers: usize,
    /// Runs everything in place, on the calling thread, with futures that are always ready: the simulator's mode. One
    /// connection writes and one reads, whatever is said above.
    pub inline: bool,
    /// The clock; the database's when absent.
    pub clock: Option<ClockHook>,
    /// Faults at commits.
    pub before_commit: Option<CommitHook>,
    /// Faults at statements.
    pub before_statement: Option<StatementHook>,
    /// The epoch a new database begins with; at the database's time with its randomness when absent.
    pub first_epoch: Option<Epoch>,
    /// Refuses a server with `fsync = off`, which loses acknowledged scans. Tests may say no.
    pub require_fsync: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            writers: 6,
            readers: 4,
            inline: false,
            clock: None,
            before_commit: None,
            before_statement: None,
            first_epoch: None,
            require_fsync: true,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("writers", &self.writers)
            .field("readers", &self.readers)
            .field("inline", &self.inline)
            .field("require_fsync", &self.require_fsync)
            .finish_non_exhaustive()
    }
}
