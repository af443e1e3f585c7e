//! Wakes the one who carries out runs in this process as soon as there is one. Losing a ring costs time, never a run.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;

/// A bell with one listener.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicBool,
    listener: AtomicWaker,
}

impl Bell {
    /// There is a run. Called after the commit that made it.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        self.listener.wake();
    }
    /// Waits until it was rung since the last time somebody waited.
    pub async fn rung(&self) {
        poll_fn(|context| {
            self.listener.register(context.waker());
            if self.rung.swap(false, Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn a_ring_is_heard_once_whenever_it_came() {
        let bell = Bell::default();
        assert_eq!(bell.rung().now_or_never(), None);
        bell.ring();
        bell.ring();
        assert_eq!(bell.rung().now_or_never(), Some(()));
        assert_eq!(bell.rung().now_or_never(), None);
    }
}
