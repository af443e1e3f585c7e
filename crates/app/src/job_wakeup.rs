//! Wakes this process's job runner as soon as a run is due. If a wakeup is lost, runs start later, but none is lost.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;

/// A wakeup with one listener.
#[derive(Debug, Default)]
pub struct JobWakeup {
    is_due: AtomicBool,
    listener: AtomicWaker,
}

impl JobWakeup {
    /// Wakes the job runner. Call it after the commit that made a run.
    pub fn wake(&self) {
        self.is_due.store(true, Ordering::SeqCst);
        self.listener.wake();
    }
    /// Waits until [`JobWakeup::wake`] was called since the last wait.
    pub async fn woken(&self) {
        poll_fn(|context| {
            self.listener.register(context.waker());
            if self.is_due.swap(false, Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
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
        let wakeup = JobWakeup::default();
        assert_eq!(wakeup.woken().now_or_never(), None);
        wakeup.wake();
        wakeup.wake();
        assert_eq!(wakeup.woken().now_or_never(), Some(()));
        assert_eq!(wakeup.woken().now_or_never(), None);
    }
}
