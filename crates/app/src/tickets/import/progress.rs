//! The progress of an import, for the user who waits. It has no effect on the import.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// The stage of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The file is being read.
    Reading,
    /// Rows are being compared with what is stored.
    Comparing,
    /// Tickets and guests are being stored.
    Storing,
}

impl Stage {
    /// The stage as a stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Comparing => "comparing",
            Self::Storing => "storing",
        }
    }
}

/// A counter that the import changes and others read.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    stage: AtomicU8,
    done: AtomicUsize,
    of: AtomicUsize,
}

impl Progress {
    /// Begins a stage with this many rows.
    pub fn begin(&self, stage: Stage, of: usize) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.of.store(of, Ordering::Relaxed);
        self.0.stage.store(stage as u8, Ordering::Relaxed);
    }
    /// Notes how many rows of the stage are done.
    pub fn step(&self, done: usize) {
        self.0.done.store(done, Ordering::Relaxed);
    }
    /// The stage, the number of rows done, and the number of all rows. The latter is 0 if the stage counts no rows.
    pub fn read(&self) -> (Stage, usize, usize) {
        let stage = match self.0.stage.load(Ordering::Relaxed) {
            0 => Stage::Reading,
            1 => Stage::Comparing,
            _ => Stage::Storing,
        };
        (stage, self.0.done.load(Ordering::Relaxed), self.0.of.load(Ordering::Relaxed))
    }
}
