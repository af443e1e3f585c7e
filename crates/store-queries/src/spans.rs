//! The trace spans of one write: its wait for the store, its operation, and the commit that it shares with others.

use std::time::Instant;

use admit_app::ports::TRACES;
use tracing::field::Empty;
use tracing::{Span, info_span};

/// The spans that travel with a write through a store's queue and threads: `store.write`, and inside it `store.wait`,
/// `store.transaction` and `store.commit`. These spans are held and never entered, so the log lines of a store's thread
/// stay the same. Without a trace collector the value is empty.
#[derive(Debug, Default)]
pub struct WriteSpans(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    /// The span that runs now; none between the operation and its commit.
    phase: Span,
    write: Span,
    asked: Instant,
    waits: bool,
}

impl WriteSpans {
    /// Begins `store.write` inside the caller's span, and `store.wait` inside that.
    pub fn begin() -> Self {
        let write = info_span!(target: TRACES, "store.write", waited_ms = Empty, group = Empty);
        if write.is_disabled() {
            return Self::default();
        }
        let phase = info_span!(target: TRACES, parent: &write, "store.wait");
        Self(Some(Box::new(Open { phase, write, asked: Instant::now(), waits: true })))
    }

    /// Begins `store.transaction`: a thread of the store starts the operation, or repeats it.
    pub fn transaction(&mut self) {
        let Some(open) = &mut self.0 else { return };
        // The former span ends before the next begins.
        open.phase = Span::none();
        if std::mem::take(&mut open.waits) {
            open.write.record("waited_ms", open.asked.elapsed().as_secs_f64() * 1_000.0);
        }
        open.phase = info_span!(target: TRACES, parent: &open.write, "store.transaction");
    }

    /// Ends `store.transaction`. Other operations of the same commit may still run.
    pub fn done(&mut self) {
        if let Some(open) = &mut self.0 {
            open.phase = Span::none();
        }
    }

    /// Begins `store.commit`, a commit that `group` operations share.
    pub fn commit(&mut self, group: usize) {
        let Some(open) = &mut self.0 else { return };
        open.phase = Span::none();
        open.write.record("group", group as i64);
        open.phase = info_span!(target: TRACES, parent: &open.write, "store.commit");
    }
}
