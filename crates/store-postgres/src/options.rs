//! Settings.

use admit_core::rule::Epoch;

/// How the store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections that write: as many lanes run at once.
    pub writers: usize,
    /// Connections that read.
    pub readers: usize,
    /// The epoch a new database begins with; at the database's time with its randomness when absent.
    pub first_epoch: Option<Epoch>,
    /// Refuses a server with `fsync = off`, which loses acknowledged scans. Tests may say no.
    pub require_fsync: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { writers: 6, readers: 4, first_epoch: None, require_fsync: true }
    }
}
