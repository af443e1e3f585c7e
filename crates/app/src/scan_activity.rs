//! Tells whether somebody scans at a door just now. Work that may wait then pauses, so that the scans get the
//! processors. This has no effect on results, only on when they come (law 15). Scans that other processes receive are
//! not counted.

use std::sync::atomic::{AtomicI64, Ordering};

use admit_core::limits::DOORS_BUSY_MS;

/// When scans last came in, in this process. Times are of a monotonic clock, in milliseconds.
#[derive(Debug)]
pub struct ScanActivity {
    scanned_at_ms: AtomicI64,
}

impl Default for ScanActivity {
    fn default() -> Self {
        Self { scanned_at_ms: AtomicI64::new(i64::MIN) }
    }
}

impl ScanActivity {
    /// Notes that scans came in.
    pub fn scanned(&self, now_ms: i64) {
        self.scanned_at_ms.store(now_ms, Ordering::Relaxed);
    }
    /// Whether scans came in so recently that more are expected.
    pub fn is_recent(&self, now_ms: i64) -> bool {
        now_ms.saturating_sub(self.scanned_at_ms.load(Ordering::Relaxed)) < DOORS_BUSY_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_busy_for_a_while_after_a_scan_and_not_before_the_first() {
        let activity = ScanActivity::default();
        assert!(!activity.is_recent(0));
        activity.scanned(5_000);
        assert!(activity.is_recent(5_000));
        assert!(activity.is_recent(5_000 + DOORS_BUSY_MS - 1));
        assert!(!activity.is_recent(5_000 + DOORS_BUSY_MS));
    }
}
