//! The store's settings.

use admit_core::rule::Epoch;
pub use admit_store_queries::hooks::{ClockHook, CommitFault, CommitHook, StatementFault, StatementHook};

/// How the store is opened.
#[derive(Clone)]
pub struct Options {
    /// The number of connections that write. So many lanes run at once.
    pub writers: usize,
    /// The number of connections that read.
    pub readers: usize,
    /// Runs everything on the calling thread, with futures that are always ready. The simulator uses this. One
    /// connection writes and one reads, whatever `writers` and `readers` say.
    pub inline: bool,
    /// The clock; `None` uses the database's clock.
    pub clock: Option<ClockHook>,
    /// Hook for faults at commits; `None` outside the simulator.
    pub before_commit: Option<CommitHook>,
    /// Hook for faults at statements; `None` outside the simulator.
    pub before_statement: Option<StatementHook>,
    /// The first epoch of a new database. `None`: the epoch has the database's time and a random number from the
    /// database.
    pub first_epoch: Option<Epoch>,
    /// Whether to refuse a server with `fsync = off`, which loses acknowledged scans. Tests may set it to false.
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
