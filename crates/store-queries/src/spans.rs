//! The spans of one write: how long it waited for the store, what it did there, and the commit it shared with others.

use std::time::Instant;

use admit_app::ports::TRACES;
use tracing::field::Empty;
use tracing::{Span, info_span};

/// Travels with a write through a store's queue and threads: `store.write`, and inside it `store.wait`,
/// `store.transaction` and `store.commit`. Spans are held here and never entered, so that what a store's thread logs reads
/// the same with them. Where nobody records spans there is nothing in it.
#[derive(Debug, Default)]
pub struct WriteSpans(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    /// The span under way now; none between the transaction and its commit.
    phase: Span,
    write: Span,
    asked: Instant,
    waits: bool,
}

impl WriteSpans {
    /// Begins `store.write` inside the caller's span, and the wait for a thread of the store.
    pub fn begin() -> Self {
        let write = info_span!(target: TRACES, "store.write", waited_ms = Empty, group = Empty);
        if write.is_disabled() {
            return Self::default();
        }
        let phase = info_span!(target: TRACES, parent: &write, "store.wait");
        Self(Some(Box::new(Open { phase, write, asked: Instant::now(), waits: true })))
    }

    /// A thread of the store begins the operation, or begins it again.
    pub fn transaction(&mut self) {
        let Some(open) = &mut self.0 else { return };
        // What was under way ends before the next begins.
        open.phase = Span::none();
        if std::mem::take(&mut open.waits) {
            open.write.record("waited_ms", open.asked.elapsed().as_secs_f64() * 1_000.0);
        }
        open.phase = info_span!(target: TRACES, parent: &open.write, "store.transaction");
    }

    /// The operation is done; those that share its commit are not.
    pub fn done(&mut self) {
        if let Some(open) = &mut self.0 {
            open.phase = Span::none();
        }
    }

    /// The commit begins, which `group` operations share.
    pub fn commit(&mut self, group: usize) {
        let Some(open) = &mut self.0 else { return };
        open.phase = Span::none();
        open.write.record("group", group as i64);
        open.phase = info_span!(target: TRACES, parent: &open.write, "store.commit");
    }
}
